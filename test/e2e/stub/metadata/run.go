package metadata

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"time"

	"github.com/lib/pq"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
)

const (
	poll           = time.Second
	connectTimeout = 3 * time.Second
)

// errForeign is a permanent error: the database contains data of another instance.
var errForeign = errors.New("the database holds another account's data")

// Run serves gRPC health until ctx ends. The status is SERVING while the database responds. Run returns an error if the
// database belongs to another account.
func Run(ctx context.Context, c Config, user, password string, logf func(string, ...any)) error {
	db, err := open(c, user, password)
	if err != nil {
		return err
	}
	defer db.Close() //nolint:errcheck // the process ends
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(c.Host, strconv.Itoa(c.Port)))
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	state := health.NewServer()
	state.SetServingStatus("", healthv1.HealthCheckResponse_NOT_SERVING)
	server := grpc.NewServer()
	healthv1.RegisterHealthServer(server, state)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	watched := make(chan error, 1)
	go func() { watched <- watch(ctx, db, c, state, logf) }()
	select {
	case err = <-served:
		return fmt.Errorf("serve: %w", err)
	case err = <-watched:
	}
	state.Shutdown()
	server.Stop() // GracefulStop would wait for the watchers of health
	return err
}

func open(c Config, user, password string) (*sql.DB, error) {
	pg := c.Storage.PostgreSQL
	at := url.URL{
		Scheme: "postgres", User: url.UserPassword(user, password), Host: net.JoinHostPort(pg.Host, strconv.Itoa(pg.Port)),
		Path: "/" + pg.Database, RawQuery: url.Values{"sslmode": {"disable"}, "connect_timeout": {"3"}}.Encode(),
	}
	connector, err := pq.NewConnector(at.String())
	if err != nil {
		return nil, fmt.Errorf("parse database address: %w", err)
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(2)
	return db, nil
}

// watch updates the health status. It returns nil when ctx ends, and an error if the data is of another account.
func watch(ctx context.Context, db *sql.DB, c Config, state *health.Server, logf func(string, ...any)) error {
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for lastLog := "?"; ; {
		err := checkDatabase(ctx, db, c)
		if ctx.Err() != nil {
			return nil
		}
		if errors.Is(err, errForeign) {
			return err
		}
		status, description := healthv1.HealthCheckResponse_SERVING, "serving"
		if err != nil {
			status, description = healthv1.HealthCheckResponse_NOT_SERVING, err.Error()
		}
		state.SetServingStatus("", status)
		if description != lastLog {
			lastLog = description
			logf("%s", description)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// checkDatabase stores the account in the database unless one is stored, and returns errForeign if the stored one differs.
func checkDatabase(ctx context.Context, db *sql.DB, c Config) error {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	schema := pq.QuoteIdentifier(c.Storage.PostgreSQL.Schema)
	table := schema + ".stub_account"
	var found string
	err := db.QueryRowContext(ctx, "SELECT id FROM "+table).Scan(&found)
	if err != nil {
		for _, statement := range []string{
			"CREATE SCHEMA IF NOT EXISTS " + schema,
			"CREATE TABLE IF NOT EXISTS " + table + " (one int PRIMARY KEY CHECK (one = 1), id text NOT NULL)",
			"INSERT INTO " + table + " VALUES (1, " + pq.QuoteLiteral(c.Account) + ") ON CONFLICT DO NOTHING",
		} {
			if _, err := db.ExecContext(ctx, statement); err != nil {
				return fmt.Errorf("database: %w", err)
			}
		}
		err = db.QueryRowContext(ctx, "SELECT id FROM "+table).Scan(&found)
	}
	if err != nil {
		return fmt.Errorf("database: %w", err)
	}
	if found != c.Account {
		return fmt.Errorf("%w: got %s, want %s", errForeign, found, c.Account)
	}
	return nil
}

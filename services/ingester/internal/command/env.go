package command

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/database"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/incarnation"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/installation"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/migrations"
	"github.com/flotilla-dev/flotilla/services/ingester/storage/mysql"
)

// Env holds the connections of a command.
type Env struct {
	// Client reads from the API server, without a cache. Nil for commands that need no cluster.
	Client client.Client
	// DB and Store use the same database; nil when no MySQL is configured. Store writes only
	// after [Env.SetIncarnation].
	DB    *sql.DB
	Store *mysql.Storage
	Kinds *registry.Registry
	Clock clock.WithTicker
	Log   logr.Logger
	// Namespaces that the ingester watches, the default of a command; empty means all.
	Namespaces []string
	// LeaseNamespace holds the ingester's Lease.
	LeaseNamespace string
	// EvictImmutableKinds is set if the ingester evicts every object of an immutable kind.
	EvictImmutableKinds bool
	// Bus connects to the bus, under the identity of the ingester; nil without one. Cluster is the
	// cluster's name there.
	Bus     func() (*bus.Conn, error)
	Cluster string
}

// Config holds the settings of an Env.
type Config struct {
	// MySQL holds the connection settings; if unconfigured, the command runs without MySQL.
	MySQL database.Settings
	// Optional allows the command to run without MySQL when MySQL is unavailable, or its settings are invalid. A database of
	// another cluster is an error nevertheless: such settings are a mistake, which the command could not undo.
	Optional bool
	// Outbox adds an event to the outbox for each change; an ingester with a bus publishes them.
	Outbox              bool
	EvictImmutableKinds bool
	Client              client.Client
	Clock               clock.WithTicker
	Log                 logr.Logger
	Namespaces          []string
	LeaseNamespace      string
	Bus                 func() (*bus.Conn, error)
	Cluster             string
}

// Open returns an Env and checks that MySQL is available and has the current schema. It
// never changes the schema. ctx bounds the lifetime of the Env; call Close at the end.
func Open(ctx context.Context, config Config) (Env, error) {
	if config.Clock == nil {
		config.Clock = clock.RealClock{}
	}
	kinds, err := registry.Load()
	if err != nil {
		return Env{}, err
	}
	env := Env{
		Client: config.Client, Kinds: kinds, Clock: config.Clock, Log: config.Log,
		Namespaces: config.Namespaces, LeaseNamespace: config.LeaseNamespace, Bus: config.Bus, Cluster: config.Cluster,
		EvictImmutableKinds: config.EvictImmutableKinds,
	}
	if !config.MySQL.Configured() {
		return env, nil
	}
	store, err := openStore(ctx, config)
	if err == nil {
		env.Store, env.DB = store, store.DB()
		return env, nil
	}
	if !config.Optional || errors.Is(err, installation.ErrOtherCluster) {
		return Env{}, err
	}
	config.Log.Info("Continuing without MySQL", "reason", err.Error())
	return env, nil
}

// openStore returns a store whose database is available, has the current schema and belongs to no other cluster.
func openStore(ctx context.Context, config Config) (*mysql.Storage, error) {
	connector, err := config.MySQL.Connector()
	if err != nil {
		return nil, err
	}
	store, err := mysql.Open(ctx, mysql.Options{
		Connector: connector, Pool: config.MySQL.Pool, Log: config.Log, Clock: config.Clock, Outbox: config.Outbox,
	})
	if err != nil {
		return nil, err
	}
	if err := check(ctx, store.DB(), config.Cluster); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return store, nil
}

func check(ctx context.Context, db *sql.DB, cluster string) error {
	if err := database.Ping(ctx, db); err != nil {
		return err
	}
	states, err := migrations.List(ctx, db)
	if err != nil {
		return err
	}
	pending := 0
	for _, s := range states {
		if !s.Applied {
			pending++
		}
	}
	if pending > 0 {
		return fmt.Errorf("%d database migrations are pending: run ingester migrate up, or start the ingester", pending)
	}
	return installation.Check(ctx, db, cluster)
}

// Close closes the connections of Open.
func (e Env) Close() error {
	if e.Store == nil {
		return nil
	}
	return e.Store.Close()
}

// RequireMySQL returns an error without a connection to MySQL.
func (e Env) RequireMySQL() error {
	if e.DB == nil {
		return errors.New("this command requires MySQL: set --mysql-dsn (MYSQL_DSN), or --mysql-host, --mysql-user and --mysql-database")
	}
	return nil
}

// Incarnation returns the incarnation that the ingester writes the cluster's rows with.
// Registered is false if the database has no incarnation of the cluster; n is then the one
// that the ingester would register.
func (e Env) Incarnation(ctx context.Context) (n int64, registered bool, err error) {
	uid, err := incarnation.ClusterUID(ctx, e.Client)
	if err != nil {
		return 0, false, Explain(err)
	}
	own, newest, err := incarnation.Stored(ctx, e.DB, uid, "")
	if err != nil {
		return 0, false, err
	}
	if !own.Valid {
		return newest + 1, false, nil
	}
	return own.Int64, true, nil
}

// SetIncarnation sets the incarnation of the store to the one that the ingester uses. It never bumps
// it: a running ingester would keep the old one, and its writes would look stale.
func (e Env) SetIncarnation(ctx context.Context) error {
	n, registered, err := e.Incarnation(ctx)
	if err != nil {
		return err
	}
	if !registered {
		return errors.New("cluster not registered in this database: start the ingester once")
	}
	e.Store.SetIncarnation(n) //nolint:contextcheck // the writer lives as long as the store
	return nil
}

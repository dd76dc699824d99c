package database

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/go-sql-driver/mysql"
)

// Limits of the pool, and timeouts of a connection.
const (
	maxOpen         = 25
	maxIdle         = 10
	maxLifetime     = 5 * time.Minute
	dialTimeout     = 5 * time.Second
	exchangeTimeout = 30 * time.Second
)

// Open returns a pool for a DSN; see [Connector].
func Open(dsn string) (*sql.DB, error) {
	connector, err := Connector(dsn)
	if err != nil {
		return nil, err
	}
	return OpenConnector(connector, Pool{}), nil
}

// Connector returns the connector for the DSN of github.com/go-sql-driver/mysql, for example
// "user:password@tcp(host:3306)/michelangelo?tls=true". It does not connect; an error
// means that the DSN is invalid, and never contains the password.
func Connector(dsn string) (driver.Connector, error) {
	cfg, err := parseDSN(dsn)
	if err != nil {
		return nil, err
	}
	if err := checkTLS(cfg, false); err != nil {
		return nil, err
	}
	if err := applyDefaults(cfg); err != nil {
		return nil, err
	}
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, fmt.Errorf("apply settings of the DSN: %w", err)
	}
	return connector, nil
}

// OpenConnector returns a pool of the connections that a connector makes.
func OpenConnector(connector driver.Connector, pool Pool) *sql.DB {
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(cmp.Or(pool.MaxOpen, maxOpen))
	db.SetMaxIdleConns(pool.maxIdle())
	db.SetConnMaxLifetime(cmp.Or(pool.MaxLifetime, maxLifetime))
	return db
}

// CloseIdle closes the idle connections of a pool that OpenConnector returned: they have the settings of the server at their start.
func CloseIdle(db *sql.DB, pool Pool) {
	db.SetMaxIdleConns(0)
	db.SetMaxIdleConns(pool.maxIdle())
}

func (p Pool) maxIdle() int { return cmp.Or(p.MaxIdle, maxIdle) }

func parseDSN(dsn string) (*mysql.Config, error) {
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil {
		return nil, errors.New("is not a DSN like user:password@tcp(host:3306)/database") // the parser's error may quote it
	}
	if cfg.DBName == "" {
		return nil, errors.New("must name a database: user:password@tcp(host:3306)/database")
	}
	return cfg, nil
}

// checkTLS rejects a DSN whose connections can reach a server that is not authenticated. required is set if other settings
// require TLS.
func checkTLS(cfg *mysql.Config, required bool) error {
	switch {
	case cfg.TLSConfig == "skip-verify" || cfg.TLSConfig == "preferred":
		return fmt.Errorf("must not have tls=%s, which does not authenticate the server: "+
			"use tls=true, and --mysql-tls-ca-file for a private CA", cfg.TLSConfig)
	case cfg.AllowFallbackToPlaintext && (required || cfg.TLS != nil):
		return errors.New("must not have allowFallbackToPlaintext=true with TLS: " +
			"the connection would not be encrypted if the server offers no TLS")
	}
	return nil
}

func applyDefaults(cfg *mysql.Config) error {
	cfg.ParseTime = true
	cfg.Loc = time.UTC
	cfg.Collation = "utf8mb4_bin"
	cfg.MaxAllowedPacket = 0 // use the limit of the server
	cfg.MultiStatements = false
	cfg.RejectReadOnly = true       // after a switchover, connections to the former primary are lost instead of reused
	cfg.Logger = &mysql.NopLogger{} // every logged message is also returned as an error
	if cfg.Timeout == 0 {
		cfg.Timeout = dialTimeout
	}
	if cfg.ReadTimeout == 0 {
		cfg.ReadTimeout = exchangeTimeout
	}
	if cfg.WriteTimeout == 0 {
		cfg.WriteTimeout = exchangeTimeout
	}
	if cfg.Params == nil {
		cfg.Params = map[string]string{}
	}
	// Intersecting two indexes reads both completely, which takes longer than reading one and its rows.
	cfg.Params["optimizer_switch"] = "'index_merge_intersection=off'"
	cfg.Params["time_zone"] = "'+00:00'"
	cfg.Params["sql_mode"] = "'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'"
	if err := cfg.Apply(mysql.TimeTruncate(time.Microsecond)); err != nil {
		return fmt.Errorf("apply settings of the DSN: %w", err)
	}
	return nil
}

// Server errors of contention.
const (
	errLockWait = 1205
	errDeadlock = 1213
)

// content lists the permanent errors: the server rejects the content of the rows.
var content = map[uint16]bool{
	1048: true, // column cannot be null
	1264: true, // out of range
	1292: true, // truncated wrong value
	1366: true, // incorrect string value
	1406: true, // data too long
	3140: true, // invalid JSON (MySQL)
	3144: true, // wrong character set for JSON
	3150: true, // JSON value too big (MySQL)
	3151: true, // JSON key too big (MySQL)
	3157: true, // JSON nested too deep (MySQL)
	4025: true, // constraint failed: JSON that is invalid or nested too deep (MariaDB)
	1153: true, // packet larger than max_allowed_packet
}

// TooDeep reports whether err means that a JSON document is nested deeper than the server stores.
func TooDeep(err error) bool {
	var server *mysql.MySQLError
	return errors.As(err, &server) && (server.Number == 3157 || server.Number == 4025)
}

// Class is the meaning of a database error for the caller.
type Class string

// Classes of errors.
const (
	Contention Class = "contention" // deadlock or lock wait: the same transaction may succeed at once
	Lost       Class = "lost"       // the connection broke; whether a commit took effect is unknown
	Content    Class = "content"    // a row's content is rejected
	Other      Class = "other"
)

// Classify returns the class of an error.
func Classify(err error) Class {
	if server, ok := errors.AsType[*mysql.MySQLError](err); ok {
		switch {
		case server.Number == errDeadlock || server.Number == errLockWait:
			return Contention
		case content[server.Number], TooLong(err):
			return Content
		}
		return Other
	}
	var network net.Error
	switch {
	case errors.Is(err, mysql.ErrPktTooLarge):
		return Content
	case errors.Is(err, mysql.ErrInvalidConn), errors.Is(err, driver.ErrBadConn), errors.Is(err, sql.ErrConnDone),
		errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF), errors.As(err, &network):
		return Lost
	}
	return Other
}

// Ping checks that the server is available.
func Ping(ctx context.Context, db *sql.DB) error {
	if err := db.PingContext(ctx); err != nil {
		return fmt.Errorf("ping MySQL: %w", err)
	}
	return nil
}

// Await pings until the server is available, ctx ends or an error other than a connection failure occurs. It
// returns the last failure. It calls report once for each failure that differs from the previous one.
func Await(ctx context.Context, db *sql.DB, pause time.Duration, report func(error)) error {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	var lastErr error
	for {
		err := Ping(ctx, db)
		switch {
		case ctx.Err() != nil && lastErr != nil: // a canceled ping carries no information
			return lastErr
		case err == nil || Classify(err) != Lost:
			return err
		}
		if lastErr == nil || lastErr.Error() != err.Error() {
			report(err)
		}
		lastErr = err
		select {
		case <-ctx.Done():
			return lastErr
		case <-tick.C:
		}
	}
}

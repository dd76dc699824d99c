package database_test

import (
	"context"
	"errors"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/mysqltest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/database"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
	"github.com/flotilla-dev/flotilla/services/ingester/migrations"
)

// TestReadOnlyServerLosesConnection makes a server read-only, as a switchover does with the former primary. The login is
// unprivileged: administrators may write.
func TestReadOnlyServerLosesConnection(t *testing.T) {
	for _, vendor := range mysqltest.Vendors() {
		t.Run(string(vendor), func(t *testing.T) {
			dsn := mysqltest.PrivateOf(t, vendor).DSN()
			admin := dbtest.Open(t, dsn)
			exec := func(statement string) {
				t.Helper()
				if _, err := admin.ExecContext(t.Context(), statement); err != nil {
					t.Fatalf("%s: %v", statement, err)
				}
			}
			cfg, err := mysql.ParseDSN(dsn)
			if err != nil {
				t.Fatal(err)
			}
			cfg.User, cfg.Passwd = "ingester", "secret"
			exec("CREATE USER 'ingester'@'%' IDENTIFIED BY 'secret'")
			exec("GRANT ALL ON `" + cfg.DBName + "`.* TO 'ingester'@'%'")
			exec("CREATE TABLE written (id INT PRIMARY KEY)")
			pool := dbtest.Open(t, cfg.FormatDSN())
			pool.SetMaxOpenConns(1)
			insert := func() error {
				tx, err := pool.BeginTx(t.Context(), nil)
				if err != nil {
					return err
				}
				if _, err := tx.ExecContext(t.Context(), "INSERT INTO written VALUES (1)"); err != nil {
					return errors.Join(err, tx.Rollback())
				}
				return tx.Commit()
			}
			before := dbtest.Strings(t, pool, "SELECT CONNECTION_ID()")[0]
			exec("SET GLOBAL read_only = ON")
			if err := insert(); database.Classify(err) != database.Lost {
				t.Errorf("write to a read-only server: %v is %s, want %s", err, database.Classify(err), database.Lost)
			}
			if err := database.Probe(t.Context(), pool, "INSERT INTO written VALUES (1)", nil); !errors.Is(err, database.ErrReadOnly) {
				t.Errorf("probe: %v, want %v", err, database.ErrReadOnly)
			}
			ctx, cancel := context.WithTimeout(t.Context(), expect.Long)
			defer cancel()
			if _, err := migrations.Up(ctx, dbtest.Open(t, cfg.FormatDSN())); !errors.Is(err, database.ErrReadOnly) {
				t.Errorf("migrate: %v, want %v", err, database.ErrReadOnly)
			}
			exec("SET GLOBAL read_only = OFF")
			if after := dbtest.Strings(t, pool, "SELECT CONNECTION_ID()")[0]; after == before {
				t.Errorf("connection %s is reused", after)
			}
			if err := insert(); err != nil {
				t.Errorf("write after the server is writable: %v", err)
			}
		})
	}
}

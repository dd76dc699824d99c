package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	_ "github.com/go-sql-driver/mysql" // the driver

	"github.com/flotilla-dev/flotilla/libs/testkit/await"
	"github.com/flotilla-dev/flotilla/libs/testkit/mysqlserver"
	"github.com/flotilla-dev/flotilla/test/stack/benchenv"
)

// store is the database of a scenario.
type store struct {
	env    *benchenv.Env
	server *mysqlserver.Server
	dsn    string
	db     *sql.DB
}

const database = "michelangelo"

// withStore starts a server, brings a database to the ingester's schema, and removes both after the work.
func withStore(ctx context.Context, e *benchenv.Env, work func(*store) error) (err error) {
	s := &store{env: e}
	if s.server, err = e.Database(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.server.Remove(context.WithoutCancel(ctx))) }()
	if err := s.server.CreateDatabase(ctx, database); err != nil {
		return err
	}
	s.dsn = s.server.DSN(database)
	if s.db, err = sql.Open("mysql", s.dsn); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.db.Close()) }()
	if err := e.Operator.Command(ctx, "migrate", "up", "--mysql-dsn="+s.dsn); err != nil {
		return err
	}
	return work(s)
}

// withStored is withStore with n objects in the database, and the ingester at work.
func withStored(ctx context.Context, e *benchenv.Env, n int, work func(*store) error) error {
	return withStore(ctx, e, func(s *store) error {
		if err := createModels(ctx, e, n, true); err != nil {
			return err
		}
		before, err := s.inserted(ctx)
		if err != nil {
			return err
		}
		if _, err := e.Operator.Start("--mysql-dsn=" + s.dsn); err != nil {
			return err
		}
		if _, err := s.await(ctx, n, before); err != nil {
			return err
		}
		return work(s)
	})
}

func (s *store) count(ctx context.Context, query string, args ...any) (n int, err error) {
	err = s.db.QueryRowContext(ctx, query, args...).Scan(&n)
	return n, err
}

// patience bounds every wait.
const patience = 10 * time.Minute

// rowsOf is how many rows an object has: its own, 3 labels, 2 annotations.
const rowsOf = 6

// inserted is how many rows the server has inserted since its start. Unlike counting, asking for it costs nothing.
func (s *store) inserted(ctx context.Context) (n int, err error) {
	var name string
	err = s.db.QueryRowContext(ctx, "SHOW GLOBAL STATUS LIKE 'Handler_write'").Scan(&name, &n)
	return n, err
}

// await returns the moment when n objects are committed, of which no row was there when the server had inserted before.
func (s *store) await(ctx context.Context, n, before int) (time.Time, error) {
	err := await.Nil(ctx, patience, 20*time.Millisecond, func(ctx context.Context) error {
		have, err := s.inserted(ctx)
		if err != nil {
			return await.Stop(err)
		}
		if have < before+n*rowsOf {
			return fmt.Errorf("%d rows have come", have-before)
		}
		stored, err := s.count(ctx, "SELECT COUNT(*) FROM model")
		if err != nil {
			return await.Stop(err)
		}
		if stored < n {
			return fmt.Errorf("%d objects have come", stored)
		}
		return nil
	})
	return time.Now(), err
}

// cpu is the processor time used so far, by process.
func (s *store) cpu() (map[string]float64, error) {
	others := map[string]int{}
	if pid := s.server.RunningPID(); pid != 0 {
		others["mysqld"] = pid
	}
	return s.env.CPU(others)
}

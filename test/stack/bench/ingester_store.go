package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	_ "github.com/go-sql-driver/mysql" // the driver

	"github.com/flotilla-dev/flotilla/libs/testkit/mysqlserver"
	"github.com/flotilla-dev/flotilla/test/stack/benchlab"
)

// store is the database of a scenario.
type store struct {
	lab    *benchlab.Lab
	server *mysqlserver.Server
	dsn    string
	db     *sql.DB
}

const database = "michelangelo"

// open starts a server and brings a database to the ingester's schema.
func open(ctx context.Context, l *benchlab.Lab) (_ *store, err error) {
	s := &store{lab: l}
	if s.server, err = l.Database(ctx); err != nil {
		return nil, err
	}
	if err := s.server.CreateDatabase(ctx, database); err != nil {
		return nil, errors.Join(err, s.close(ctx))
	}
	s.dsn = s.server.DSN(database)
	if s.db, err = sql.Open("mysql", s.dsn); err != nil {
		return nil, errors.Join(err, s.close(ctx))
	}
	if err := l.RunOperator(ctx, "migrate", "up", "--mysql-dsn="+s.dsn); err != nil {
		return nil, errors.Join(err, s.close(ctx))
	}
	return s, nil
}

func (s *store) close(ctx context.Context) error {
	var err error
	if s.db != nil {
		err = s.db.Close()
	}
	return errors.Join(err, s.server.Remove(context.WithoutCancel(ctx)))
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
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		have, err := s.inserted(ctx)
		if err == nil && have >= before+n*rowsOf {
			have, err = s.count(ctx, "SELECT COUNT(*) FROM model")
			if err == nil && have >= n {
				return time.Now(), nil
			}
		}
		if err != nil {
			return time.Time{}, err
		}
		select {
		case <-ctx.Done():
			return time.Time{}, fmt.Errorf("%d rows have come: %w", have-before, context.Cause(ctx))
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// cpu is the processor time used so far, by process.
func (s *store) cpu() (map[string]float64, error) {
	others := map[string]int{}
	if pid := s.server.RunningPID(); pid != 0 {
		others["mysqld"] = pid
	}
	return s.lab.CPU(others)
}

// start starts the ingester and returns when it has stored n objects.
func (s *store) start(ctx context.Context, n int) error {
	before, err := s.inserted(ctx)
	if err != nil {
		return err
	}
	if _, err := s.lab.StartOperator("--mysql-dsn=" + s.dsn); err != nil {
		return err
	}
	_, err = s.await(ctx, n, before)
	return err
}

package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
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

// withStore starts a database server, migrates a database to the ingester's schema, calls work, and removes the server.
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

// withStored is like withStore with n stored objects and a running ingester.
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

// timeout is the timeout of each wait.
const timeout = 10 * time.Minute

// rowsOf is the number of rows of an object: its own, 3 labels, 2 annotations.
const rowsOf = 6

// inserted returns the number of rows that the server has inserted since its start. It is cheaper than counting rows.
func (s *store) inserted(ctx context.Context) (n int, err error) {
	var name string
	err = s.db.QueryRowContext(ctx, "SHOW GLOBAL STATUS LIKE 'Handler_write'").Scan(&name, &n)
	return n, err
}

// await waits until n objects are committed, and returns the time. before is the result of inserted before the first of them.
func (s *store) await(ctx context.Context, n, before int) (time.Time, error) {
	err := await.Nil(ctx, timeout, 20*time.Millisecond, func(ctx context.Context) error {
		have, err := s.inserted(ctx)
		if err != nil {
			return await.Stop(err)
		}
		if have < before+n*rowsOf {
			return fmt.Errorf("%d rows are inserted", have-before)
		}
		stored, err := s.count(ctx, "SELECT COUNT(*) FROM model")
		if err != nil {
			return await.Stop(err)
		}
		if stored < n {
			return fmt.Errorf("%d objects are committed", stored)
		}
		return nil
	})
	return time.Now(), err
}

// cpu returns the CPU seconds that each process has used.
func (s *store) cpu() (map[string]float64, error) {
	others := map[string]int{}
	if pid := s.server.RunningPID(); pid != 0 {
		others["mysqld"] = pid
	}
	return s.env.CPU(others)
}

const (
	rawWriters = 4
	rawBatch   = 100 // objects in a transaction
)

// table has all rows of one table, for raw inserts.
type table struct {
	name    string
	columns []string
	rows    [][]any
}

// rawInserts reports, as figure name, the rate at which the server inserts the same rows into empty tables of the same
// schema. Four connections insert 100 objects per transaction, with prepared statements for objects, labels and annotations.
// The objects are sorted by the column order. Sorted by UID, which is random, inserts are fastest, since each row is appended
// to its table; the ingester receives objects sorted by name.
func rawInserts(ctx context.Context, s *store, f *benchenv.Figures, name, order string) (float64, error) {
	objects, err := read(ctx, s.db, "model", "SELECT * FROM model ORDER BY "+order)
	if err != nil {
		return 0, err
	}
	pairs := func(table string) string {
		return "SELECT p.* FROM " + table + " p JOIN model ON model.uid = p.obj_uid ORDER BY model." + order + ", p.id"
	}
	labels, err := read(ctx, s.db, "model_labels", pairs("model_labels"))
	if err != nil {
		return 0, err
	}
	annotations, err := read(ctx, s.db, "model_annotations", pairs("model_annotations"))
	if err != nil {
		return 0, err
	}
	tables := []table{objects, labels, annotations}
	for _, t := range tables {
		for _, statement := range []string{"DROP TABLE IF EXISTS raw_" + t.name, "CREATE TABLE raw_" + t.name + " LIKE " + t.name} {
			if _, err := s.db.ExecContext(ctx, statement); err != nil {
				return 0, fmt.Errorf("create table for raw inserts: %w", err)
			}
		}
	}
	if err := waitIdle(ctx); err != nil {
		return 0, err
	}
	before, err := s.cpu()
	if err != nil {
		return 0, err
	}
	start := time.Now()
	if err := insertAll(ctx, s.db, tables); err != nil {
		return 0, err
	}
	elapsed := time.Since(start)
	after, err := s.cpu()
	if err != nil {
		return 0, err
	}
	n := len(objects.rows)
	limit := float64(n) / elapsed.Seconds()
	f.Report("sync."+name+"_objects_per_s", limit, "objects/s")
	f.Report("sync."+name+".cpu_us_per_object.mysqld", (after["mysqld"]-before["mysqld"])/float64(n)*1e6, "us")
	return limit, nil
}

// read returns all rows of a query without the auto-increment column id.
func read(ctx context.Context, db *sql.DB, name, query string) (t table, err error) {
	t.name = name
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return t, fmt.Errorf("read %s: %w", name, err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	if t.columns, err = rows.Columns(); err != nil {
		return t, err
	}
	for rows.Next() {
		row := make([]any, len(t.columns))
		into := make([]any, len(row))
		for i := range row {
			into[i] = &row[i]
		}
		if err := rows.Scan(into...); err != nil {
			return t, fmt.Errorf("read %s: %w", name, err)
		}
		for i := range row {
			if bytes, ok := row[i].([]byte); ok && t.columns[i] != "proto" {
				row[i] = string(bytes) // JSON columns require text
			}
		}
		if t.columns[0] == "id" {
			row = row[1:]
		}
		t.rows = append(t.rows, row)
	}
	if t.columns[0] == "id" {
		t.columns = t.columns[1:]
	}
	return t, rows.Err()
}

// insertAll inserts all rows in batches, which the writers take in order.
func insertAll(ctx context.Context, db *sql.DB, tables []table) error {
	n := len(tables[0].rows)
	batches := make(chan int, n/rawBatch+1)
	for start := 0; start < n; start += rawBatch {
		batches <- start
	}
	close(batches)
	errs := make([]error, rawWriters)
	var wg sync.WaitGroup
	for w := range rawWriters {
		wg.Go(func() {
			errs[w] = insertBatches(ctx, db, tables, batches)
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

func insertBatches(ctx context.Context, db *sql.DB, tables []table, batches <-chan int) (err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	kept := map[string]*sql.Stmt{}
	defer func() {
		for _, statement := range kept {
			err = errors.Join(err, statement.Close())
		}
	}()
	for start := range batches {
		tx, err := conn.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		for _, t := range tables {
			per := len(t.rows) / len(tables[0].rows) // the same number for every object
			rows := t.rows[start*per : min((start+rawBatch)*per, len(t.rows))]
			if err := t.insert(ctx, conn, tx, kept, rows); err != nil {
				return errors.Join(fmt.Errorf("insert into raw_%s: %w", t.name, err), tx.Rollback())
			}
		}
		if err := tx.Commit(); err != nil {
			return err
		}
	}
	return nil
}

func (t table) insert(ctx context.Context, conn *sql.Conn, tx *sql.Tx, kept map[string]*sql.Stmt, rows [][]any) error {
	key := fmt.Sprintf("%s %d", t.name, len(rows))
	if kept[key] == nil {
		one := "(" + strings.TrimSuffix(strings.Repeat("?, ", len(t.columns)), ", ") + ")"
		query := "INSERT INTO raw_" + t.name + " (`" + strings.Join(t.columns, "`, `") + "`) VALUES " +
			strings.TrimSuffix(strings.Repeat(one+", ", len(rows)), ", ")
		statement, err := conn.PrepareContext(ctx, query) //nolint:sqlclosecheck // ends with the connection
		if err != nil {
			return err
		}
		kept[key] = statement
	}
	args := make([]any, 0, len(rows)*len(t.columns))
	for _, row := range rows {
		args = append(args, row...)
	}
	_, err := tx.StmtContext(ctx, kept[key]).ExecContext(ctx, args...) //nolint:sqlclosecheck // ends with the transaction
	return err
}

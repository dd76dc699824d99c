package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/flotilla-dev/flotilla/test/stack/benchenv"
)

const (
	rawWriters = 4
	rawBatch   = 100 // objects in a transaction
)

// table is what is inserted again: all rows of one table.
type table struct {
	name    string
	columns []string
	rows    [][]any
}

// rawInserts prints how many objects a second the server takes when it only inserts the same rows: one
// transaction for 100 objects, a prepared statement for their rows, one for their labels and one for their annotations,
// on four connections, into empty tables of the same shape.
func rawInserts(ctx context.Context, s *store, f *benchenv.Figures) (float64, error) {
	objects, err := read(ctx, s.db, "model", "uid")
	if err != nil {
		return 0, err
	}
	labels, err := read(ctx, s.db, "model_labels", "obj_uid, id")
	if err != nil {
		return 0, err
	}
	annotations, err := read(ctx, s.db, "model_annotations", "obj_uid, id")
	if err != nil {
		return 0, err
	}
	tables := []table{objects, labels, annotations}
	for _, t := range tables {
		if _, err := s.db.ExecContext(ctx, "CREATE TABLE raw_"+t.name+" LIKE "+t.name); err != nil {
			return 0, fmt.Errorf("make a table for raw inserts: %w", err)
		}
	}
	if err := rest(ctx); err != nil {
		return 0, err
	}
	before, err := s.cpu()
	if err != nil {
		return 0, err
	}
	begin := time.Now()
	if err := insertAll(ctx, s.db, tables); err != nil {
		return 0, err
	}
	elapsed := time.Since(begin)
	after, err := s.cpu()
	if err != nil {
		return 0, err
	}
	n := len(objects.rows)
	limit := float64(n) / elapsed.Seconds()
	f.Report("sync.raw_limit_objects_per_s", limit, "objects/s")
	f.Report("sync.raw_limit.cpu_us_per_object.mysqld", (after["mysqld"]-before["mysqld"])/float64(n)*1e6, "us")
	return limit, nil
}

// read takes all rows of a table, all but the numbers that the server gives them itself.
func read(ctx context.Context, db *sql.DB, name, order string) (t table, err error) {
	t.name = name
	rows, err := db.QueryContext(ctx, "SELECT * FROM "+name+" ORDER BY "+order)
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
				row[i] = string(bytes) // as text, which is what JSON columns take
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

// insertAll shares the rows between the writers, in order, so that no two touch the same part of a batch.
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
			per := len(t.rows) / len(tables[0].rows) // every object has as many
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

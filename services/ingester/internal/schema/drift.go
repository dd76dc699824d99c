package schema

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
)

// Drift is one difference between the database and the registry.
type Drift struct {
	Table string
	What  string // for people: "column tier: is VARCHAR(255), want INT"
}

// String returns "table: what".
func (d Drift) String() string { return d.Table + ": " + d.What }

// Compare lists what the database lacks or has otherwise than wanted. Tables,
// columns and indexes beyond those wanted are no drift: a newer release may have added them.
func Compare(ctx context.Context, db *sql.DB, want []Table) ([]Drift, error) {
	have, err := read(ctx, db)
	if err != nil {
		return nil, fmt.Errorf("read information_schema: %w", err)
	}
	var out []Drift
	for _, t := range want {
		found, ok := have[t.Name]
		if !ok {
			out = append(out, Drift{t.Name, "table is missing"})
			continue
		}
		out = append(out, compareTable(t, found)...)
	}
	return out, nil
}

type found struct {
	columns map[string]string   // name -> normalised type, with its collation
	keys    map[string][]string // name -> columns, in order
	unique  map[string]bool
}

func compareTable(want Table, have *found) []Drift {
	var out []Drift
	for _, c := range want.Columns {
		wanted := normalise(c)
		switch got, ok := have.columns[c.Name]; {
		case !ok:
			out = append(out, Drift{want.Name, fmt.Sprintf("column %s is missing", c.Name)})
		case got != wanted:
			out = append(out, Drift{want.Name, fmt.Sprintf("column %s is %s, want %s", c.Name, got, wanted)})
		}
	}
	for _, k := range want.Keys {
		switch columns, ok := have.keys[k.Name]; {
		case !ok:
			out = append(out, Drift{want.Name, fmt.Sprintf("index %s is missing", k.Name)})
		case strings.Join(columns, ",") != strings.Join(k.Columns, ","):
			out = append(out, Drift{want.Name, fmt.Sprintf("index %s covers (%s), want (%s)",
				k.Name, strings.Join(columns, ","), strings.Join(k.Columns, ","))})
		case have.unique[k.Name] != k.Unique:
			out = append(out, Drift{want.Name, fmt.Sprintf("index %s: unique is %v, want %v", k.Name, have.unique[k.Name], k.Unique)})
		}
	}
	return out
}

// normalise writes a column as [read] finds it on either server.
func normalise(c Column) string {
	kind := strings.ToLower(c.Type)
	null := " null"
	if strings.Contains(c.Rest, "NOT NULL") {
		null = " not null"
	}
	if strings.HasPrefix(kind, "varchar") || kind == "mediumtext" {
		kind += " utf8mb4_bin"
	}
	return kind + null
}

const columnsQuery = `SELECT table_name, column_name, column_type, COALESCE(collation_name, ''), is_nullable
FROM information_schema.columns WHERE table_schema = DATABASE()`

const keysQuery = `SELECT table_name, index_name, column_name, non_unique
FROM information_schema.statistics WHERE table_schema = DATABASE()
ORDER BY table_name, index_name, seq_in_index`

func read(ctx context.Context, db *sql.DB) (map[string]*found, error) {
	out := map[string]*found{}
	table := func(name string) *found {
		if out[name] == nil {
			out[name] = &found{columns: map[string]string{}, keys: map[string][]string{}, unique: map[string]bool{}}
		}
		return out[name]
	}
	err := each(ctx, db, columnsQuery, func(rows *sql.Rows) error {
		var name, column, kind, collation, nullable string
		if err := rows.Scan(&name, &column, &kind, &collation, &nullable); err != nil {
			return err
		}
		table(name).columns[column] = foundType(kind, collation, nullable)
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = each(ctx, db, keysQuery, func(rows *sql.Rows) error {
		var name, key, column string
		var nonUnique int
		if err := rows.Scan(&name, &key, &column, &nonUnique); err != nil {
			return err
		}
		t := table(name)
		t.keys[key] = append(t.keys[key], column)
		t.unique[key] = nonUnique == 0
		return nil
	})
	return out, err
}

// foundType evens out the two servers: MariaDB stores JSON as LONGTEXT and writes
// display widths of integers, which MySQL no longer does (but for TINYINT(1)).
func foundType(kind, collation, nullable string) string {
	kind = strings.ToLower(kind)
	switch {
	case kind == "longtext", kind == "json":
		kind, collation = "json", ""
	case strings.HasPrefix(kind, "bigint("):
		kind = "bigint"
	case strings.HasPrefix(kind, "int("):
		kind = "int"
	}
	if collation != "" {
		kind += " " + collation
	}
	if nullable == "NO" {
		return kind + " not null"
	}
	return kind + " null"
}

func each(ctx context.Context, db *sql.DB, query string, scan func(*sql.Rows) error) (err error) {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

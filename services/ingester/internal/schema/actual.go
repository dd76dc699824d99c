package schema

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/database"
)

// ActualTable is a table as information_schema describes it.
type ActualTable struct {
	columns map[string]actualColumn
	keys    map[string]actualKey
}

type actualColumn struct {
	shape      string // normalized between the servers: "varchar(64) utf8mb4_bin not null"
	definition string // as in DDL, without NULL or NOT NULL: "varchar(64) CHARACTER SET latin1 COLLATE latin1_bin"
	nullable   bool
	defaulted  bool // NOT NULL with a default
	increments bool // AUTO_INCREMENT
	required   bool // an insert without it fails
}

type actualKey struct {
	columns []string // with the length of a prefix: "description(100)"
	unique  bool
}

// Has reports whether the table has a column of that name.
func (f *ActualTable) Has(column string) bool {
	_, ok := f.columns[column]
	return ok
}

// IndexOn returns the name of an index that begins with these columns in whole, or nothing.
func (f *ActualTable) IndexOn(columns ...string) string {
	var out []string
	for name, k := range f.keys {
		if len(k.columns) >= len(columns) && slices.Equal(k.columns[:len(columns)], columns) {
			out = append(out, name)
		}
	}
	if len(out) == 0 {
		return ""
	}
	return slices.Min(out)
}

// Nullable reports whether the column exists and may hold NULL.
func (f *ActualTable) Nullable(column string) bool { return f.columns[column].nullable }

// Text reports whether the column exists and holds text other than JSON.
func (f *ActualTable) Text(column string) bool {
	s := f.columns[column].shape
	return strings.HasPrefix(s, "varchar(") || strings.HasPrefix(s, "char(") || strings.HasPrefix(s, "text") || strings.HasPrefix(s, "mediumtext")
}

// requiredExtraColumns lists the extra columns that every insert must set.
func (f *ActualTable) requiredExtraColumns(want Table) []string {
	var out []string
	for name, c := range f.columns {
		desired := slices.ContainsFunc(want.Columns, func(w Column) bool { return w.Name == name })
		if c.required && !desired {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// shape renders a desired column as [Read] reads it from either server.
func shape(c Column) string {
	kind := strings.ToLower(c.Type)
	null := " null"
	if strings.Contains(c.Attributes, "NOT NULL") {
		null = " not null"
	}
	if isText(c) {
		kind += " utf8mb4_bin"
	}
	return kind + null
}

// difference describes how a column differs from the desired one, or returns "". An extra
// default is harmless.
func (f actualColumn) difference(want Column) string {
	switch {
	case f.shape != shape(want):
		return "is " + f.shape + ", want " + shape(want)
	case strings.Contains(want.Attributes, "AUTO_INCREMENT") && !f.increments:
		return "is not auto_increment"
	case strings.Contains(want.Attributes, "DEFAULT") && !f.defaulted:
		return "has no default, want " + want.Attributes
	}
	return ""
}

func isText(c Column) bool {
	return strings.HasPrefix(c.Type, "VARCHAR") || c.Type == "MEDIUMTEXT"
}

const columnsQuery = `SELECT table_name, column_name, column_type, COALESCE(character_set_name, ''),
  COALESCE(collation_name, ''), is_nullable = 'YES', column_default IS NOT NULL, extra
FROM information_schema.columns WHERE table_schema = DATABASE()`

const keysQuery = `SELECT table_name, index_name, COALESCE(column_name, ''), COALESCE(sub_part, 0), non_unique = 0
FROM information_schema.statistics WHERE table_schema = DATABASE()
ORDER BY table_name, index_name, seq_in_index`

// Read returns the tables of the connection's database by name.
func Read(ctx context.Context, db database.Queryer) (map[string]*ActualTable, error) {
	out := map[string]*ActualTable{}
	table := func(name string) *ActualTable {
		if out[name] == nil {
			out[name] = &ActualTable{columns: map[string]actualColumn{}, keys: map[string]actualKey{}}
		}
		return out[name]
	}
	columns := database.EachRow(ctx, db, columnsQuery, nil, func(rows *sql.Rows) error {
		var name, column, kind, charset, collation, extra string
		var nullable, defaulted bool
		if err := rows.Scan(&name, &column, &kind, &charset, &collation, &nullable, &defaulted, &extra); err != nil {
			return err
		}
		table(name).columns[column] = actualColumn{
			shape:      actualShape(kind, collation, nullable),
			definition: definition(kind, charset, collation),
			nullable:   nullable,
			defaulted:  defaulted && !nullable, // MariaDB names NULL as a default
			increments: strings.Contains(strings.ToLower(extra), "auto_increment"),
			required:   !nullable && !defaulted && !isGenerated(extra),
		}
		return nil
	})
	keys := database.EachRow(ctx, db, keysQuery, nil, func(rows *sql.Rows) error {
		var name, key, column string
		var prefix int
		var unique bool
		if err := rows.Scan(&name, &key, &column, &prefix, &unique); err != nil {
			return err
		}
		if prefix > 0 {
			column = fmt.Sprintf("%s(%d)", column, prefix)
		}
		t := table(name)
		t.keys[key] = actualKey{columns: append(t.keys[key].columns, column), unique: unique}
		return nil
	})
	if err := errors.Join(columns, keys); err != nil {
		return nil, fmt.Errorf("read information_schema: %w", err)
	}
	return out, nil
}

// isGenerated reads the column "extra" of information_schema.
func isGenerated(extra string) bool {
	extra = strings.ToLower(extra)
	return strings.Contains(extra, "auto_increment") || strings.Contains(extra, "generated")
}

func definition(kind, charset, collation string) string {
	if charset == "" {
		return kind
	}
	return kind + " CHARACTER SET " + charset + " COLLATE " + collation
}

// actualShape normalizes the two servers: MariaDB stores JSON as LONGTEXT and writes
// display widths of integers, which MySQL no longer does (except for TINYINT(1)).
func actualShape(kind, collation string, nullable bool) string {
	kind = strings.ToLower(kind)
	base, width, sized := strings.Cut(kind, "(")
	switch {
	case kind == "longtext", kind == "json":
		kind, collation = "json", ""
	case sized && (base == "bigint" || base == "int"):
		_, sign, _ := strings.Cut(width, ")") // " unsigned" or nothing
		kind = base + sign
	}
	if collation != "" {
		kind += " " + collation
	}
	if nullable {
		return kind + " null"
	}
	return kind + " not null"
}

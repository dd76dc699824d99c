package schema

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/database"
)

// Drift is one difference between the database and the registry.
type Drift struct {
	Table  string
	Detail string // such as "column tier is VARCHAR(255), want INT"
}

// String returns "table: detail".
func (d Drift) String() string { return d.Table + ": " + d.Detail }

// Compare returns the differences between the database and the desired tables. Extra tables,
// columns and indexes are not drift, since a newer release may have added them, except a
// column that inserts must name.
func Compare(ctx context.Context, db database.Queryer, want []Table) ([]Drift, error) {
	have, err := Read(ctx, db)
	if err != nil {
		return nil, err
	}
	var out []Drift
	for _, t := range want {
		actual, ok := have[t.Name]
		if !ok {
			out = append(out, Drift{t.Name, "table is missing"})
			continue
		}
		out = append(out, compareTable(t, actual)...)
	}
	return out, nil
}

func compareTable(want Table, have *ActualTable) []Drift {
	var out []Drift
	add := func(format string, args ...any) { out = append(out, Drift{want.Name, fmt.Sprintf(format, args...)}) }
	for _, c := range want.Columns {
		got, ok := have.columns[c.Name]
		if !ok {
			add("column %s is missing", c.Name)
			continue
		}
		if d := got.difference(c); d != "" {
			add("column %s %s", c.Name, d)
		}
	}
	for _, name := range have.requiredExtraColumns(want) {
		add("unknown column %s has no default, so that inserts fail", name)
	}
	for _, k := range want.Keys {
		switch got, ok := have.keys[k.Name]; {
		case !ok:
			add("index %s is missing", k.Name)
		case !slices.Equal(got.columns, k.Columns):
			add("index %s covers (%s), want (%s)", k.Name, strings.Join(got.columns, ","), strings.Join(k.Columns, ","))
		case got.unique != k.Unique:
			add("index %s: unique is %v, want %v", k.Name, got.unique, k.Unique)
		}
	}
	return out
}

package legacyschema

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"

	"k8s.io/utils/clock"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/schema"
)

// mark is the column that only tables of our schema have. It is added last.
const mark = "incarnation"

// Options configures the adoption of the tables.
type Options struct {
	// Batch is the maximum number of objects that one transaction repairs; zero means 5000.
	Batch int
	// Progress is called with each line about the progress. Nil disables it.
	Progress func(line string)
	// Clock defaults to the real clock.
	Clock clock.PassiveClock
}

// run is one run of the adoption.
type run struct {
	tx       *sql.Tx
	batch    int
	progress *progress
}

// Run adopts those tables of the kinds that differ from the schema. The table taken_over must
// exist. A kind without any table is left to the later migrations that create them. Run commits
// several times; tx serves only as a connection, the one that holds the lock of the
// migrations and bounds the waits for the locks of tables.
func Run(ctx context.Context, tx *sql.Tx, kinds []*registry.Kind, o Options) error {
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	r := &run{tx: tx, batch: cmp.Or(o.Batch, defaultBatch), progress: &progress{report: o.Progress, clock: o.Clock}}
	for _, kind := range kinds {
		if err := r.adopt(ctx, kind); err != nil {
			return fmt.Errorf("adopt tables of %s: %w", kind.Name, err)
		}
	}
	return nil
}

// adopt repairs and reshapes the tables of a kind. It skips tables that match the schema, so
// another run resumes where the last one ended.
func (r *run) adopt(ctx context.Context, kind *registry.Kind) error {
	have, err := tables(ctx, r.tx, kind)
	if err != nil || have.none() || len(have.reshape()) == 0 {
		return err
	}
	if have.earlier() {
		if add := schema.AddMissing(schema.MainTable(kind), have.main, mark); add != "" {
			if err := r.alter(ctx, kind.Table, add); err != nil {
				return err
			}
		}
	}
	for _, t := range []struct {
		want     schema.Table
		existing *schema.ActualTable
		repair   func(context.Context, *kindTables) error
	}{
		{schema.LabelsTable(kind), have.labels, func(ctx context.Context, f *kindTables) error { return r.pairs(ctx, kind.LabelsTable(), f.labels) }},
		{schema.AnnotationsTable(kind), have.annotations, func(ctx context.Context, f *kindTables) error {
			return r.pairs(ctx, kind.AnnotationsTable(), f.annotations)
		}},
		{schema.MainTable(kind), have.main, r.objects},
	} {
		if schema.Reshape(t.want, t.existing) == "" {
			continue
		}
		now, err := tables(ctx, r.tx, kind)
		if err != nil {
			return err
		}
		if err := t.repair(ctx, now); err != nil {
			return err
		}
		// Read the tables again: the repair may have added an index.
		if now, err = tables(ctx, r.tx, kind); err != nil {
			return err
		}
		if err := r.alter(ctx, t.want.Name, schema.Reshape(t.want, now.byName(t.want.Name))); err != nil {
			return err
		}
	}
	return nil
}

// kindTables holds the tables of a kind in the database.
type kindTables struct {
	kind                      *registry.Kind
	main, labels, annotations *schema.ActualTable
}

// tables returns the tables of a kind. It fails if only some of them exist.
func tables(ctx context.Context, tx *sql.Tx, kind *registry.Kind) (*kindTables, error) {
	all, err := schema.Read(ctx, tx)
	if err != nil {
		return nil, err
	}
	f := &kindTables{kind: kind, main: all[kind.Table], labels: all[kind.LabelsTable()], annotations: all[kind.AnnotationsTable()]}
	if !f.none() && (f.main == nil || f.labels == nil || f.annotations == nil) {
		return nil, fmt.Errorf("table not found, want %s, %s and %s", kind.Table, kind.LabelsTable(), kind.AnnotationsTable())
	}
	return f, nil
}

// none reports whether a later migration creates the tables.
func (f *kindTables) none() bool { return f.main == nil && f.labels == nil && f.annotations == nil }

// byName returns one of the tables by its name.
func (f *kindTables) byName(table string) *schema.ActualTable {
	switch table {
	case f.kind.LabelsTable():
		return f.labels
	case f.kind.AnnotationsTable():
		return f.annotations
	}
	return f.main
}

// earlier reports whether the kind is not adopted yet.
func (f *kindTables) earlier() bool { return !f.main.Has(mark) }

// reshape returns the statements that change the tables to our schema, the main table's last.
func (f *kindTables) reshape() []string {
	var out []string
	for _, alter := range []string{
		schema.Reshape(schema.LabelsTable(f.kind), f.labels),
		schema.Reshape(schema.AnnotationsTable(f.kind), f.annotations),
		schema.Reshape(schema.MainTable(f.kind), f.main),
	} {
		if alter != "" {
			out = append(out, alter)
		}
	}
	return out
}

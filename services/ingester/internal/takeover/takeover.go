package takeover

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/schema"
)

// mark is the column that only tables of ours have. It is added last.
const mark = "incarnation"

// Run takes over those tables of the kinds that are not as they should be. The tables
// must exist, taken_over among them. It commits on its way; tx is only a connection
// to it, the one that holds the lock of the migrations.
func Run(ctx context.Context, tx *sql.Tx, kinds []*registry.Kind) error {
	// An ALTER that waits for somebody's open transaction stops everybody behind it.
	if _, err := tx.ExecContext(ctx, "SET SESSION lock_wait_timeout = 30"); err != nil {
		return fmt.Errorf("bound the wait for table locks: %w", err)
	}
	for _, kind := range kinds {
		if err := takeOver(ctx, tx, kind); err != nil {
			return fmt.Errorf("take over the tables of %s: %w", kind.Name, err)
		}
	}
	return nil
}

func takeOver(ctx context.Context, tx *sql.Tx, kind *registry.Kind) error {
	have, err := tables(ctx, tx, kind)
	if err != nil {
		return err
	}
	if len(have.reshape()) == 0 {
		return nil
	}
	if have.earlier() {
		if add := schema.AddMissing(schema.MainTable(kind), have.main, mark); add != "" {
			if err := execute(ctx, tx, add); err != nil {
				return err
			}
			if have, err = tables(ctx, tx, kind); err != nil {
				return err
			}
		}
	}
	repairs := append([]string{"START TRANSACTION"}, have.repairs()...)
	if err := execute(ctx, tx, append(repairs, "COMMIT")...); err != nil {
		return err
	}
	return execute(ctx, tx, have.reshape()...)
}

// found is what a kind has in the database.
type found struct {
	kind                      *registry.Kind
	main, labels, annotations *schema.Found
}

func tables(ctx context.Context, tx *sql.Tx, kind *registry.Kind) (*found, error) {
	all, err := schema.Read(ctx, tx)
	if err != nil {
		return nil, err
	}
	f := &found{kind: kind, main: all[kind.Table], labels: all[kind.LabelsTable()], annotations: all[kind.AnnotationsTable()]}
	if f.main == nil || f.labels == nil || f.annotations == nil {
		return nil, fmt.Errorf("a table is missing: want %s, %s and %s", kind.Table, kind.LabelsTable(), kind.AnnotationsTable())
	}
	return f, nil
}

// earlier says whether the kind has not been taken over yet.
func (f *found) earlier() bool { return !f.main.Has(mark) }

// reshape returns the statements that give the tables their shape, the main table's last.
func (f *found) reshape() []string {
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

func execute(ctx context.Context, tx *sql.Tx, statements ...string) error {
	for _, s := range statements {
		if _, err := tx.ExecContext(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", firstLine(s), err)
		}
	}
	return nil
}

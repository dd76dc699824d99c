package writer

import (
	"context"
	"fmt"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/record"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/rows"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/schema"
)

// KeepRows marks live rows as evicted as they are, with their change events, for objects
// that may have been evicted without this database. A row that has changed meanwhile is
// Stale and one that is closed Unchanged, as in [Writer.CloseRows].
func (w *Writer) KeepRows(ctx context.Context, kind *registry.Kind, wanted []rows.Row) (kept int, err error) {
	if len(wanted) == 0 {
		return 0, nil
	}
	err = w.retry(ctx, kind.Name, len(wanted), func(ctx context.Context) error {
		kept = 0
		return w.inTransaction(ctx, kind, func(b *batch) (bool, error) {
			chosen, _, err := b.choose(ctx, wanted)
			if err != nil {
				return false, fmt.Errorf("look at rows: %w", err)
			}
			kept = len(chosen)
			return kept > 0, b.keep(ctx, chosen)
		})
	})
	if err != nil {
		return 0, err
	}
	w.cfg.Metrics.Evictions.WithLabelValues(kind.Name).Add(float64(kept))
	return kept, nil
}

func (b *batch) keep(ctx context.Context, chosen []rival) error {
	if len(chosen) == 0 {
		return nil
	}
	args := []any{b.now, b.now}
	for _, o := range chosen {
		args = append(args, o.uid)
		b.changes = append(b.changes, &change{
			Record:  &record.Record{Kind: b.kind, UID: o.uid, Namespace: o.namespace, Name: o.name, Generation: o.generation},
			version: o.version, outcome: Evicted,
		})
	}
	query := "UPDATE " + schema.Quote(b.kind.Table) + " SET evict_time = ?, update_time = ? WHERE uid IN " + placeholders(len(chosen))
	if _, err := b.tx.ExecContext(ctx, query, args...); err != nil {
		return fmt.Errorf("mark rows as evicted: %w", err)
	}
	if !b.outbox {
		return nil
	}
	if err := b.announce(ctx, nil); err != nil {
		return fmt.Errorf("write outbox: %w", err)
	}
	return nil
}

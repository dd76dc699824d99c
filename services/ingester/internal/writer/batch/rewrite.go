package batch

import (
	"context"
	"fmt"
	"sort"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/record"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/writer/decision"
)

// Rewrite is one row whose derived columns are rewritten without a new version.
type Rewrite struct {
	// Record is the new content of the row; its version is the version of the row that was read.
	Record *record.Record
	// Incarnation of the row as it was read.
	Incarnation int64
	// Content, Index and Pairs select the columns to write: the protobuf and JSON columns, the
	// indexed columns, labels and annotations (these by difference).
	Content, Index, Pairs bool
}

// Rewrite rewrites rows. A row that has another version by now, or no longer exists, is Stale and
// not rewritten. Rewrite adds no change events and keeps the time of the last update.
// The outcomes are parallel to the rewrites, which must be of different objects.
func (r *Runner) Rewrite(ctx context.Context, kind *registry.Kind, rewrites []Rewrite) ([]decision.Outcome, error) {
	outcomes := make([]decision.Outcome, len(rewrites))
	order := make([]int, len(rewrites))
	for i := range order {
		order[i] = i
	}
	sort.Slice(order, func(i, j int) bool { return rewrites[order[i]].Record.UID < rewrites[order[j]].Record.UID })
	err := r.transact(ctx, kind, func(b *batch) (bool, error) {
		return false, b.rewrite(ctx, rewrites, order, outcomes)
	})
	return outcomes, err
}

func (b *batch) rewrite(ctx context.Context, rewrites []Rewrite, order []int, outcomes []decision.Outcome) error {
	b.outbox = false
	records := make([]*record.Record, 0, len(rewrites))
	for _, i := range order {
		records = append(records, rewrites[i].Record)
	}
	locked, err := b.lockRows(ctx, records)
	if err != nil {
		return fmt.Errorf("lock rows: %w", err)
	}
	for _, i := range order {
		r := &rewrites[i]
		row, read := locked[r.Record.UID], decision.Version{Incarnation: r.Incarnation, ResVersion: r.Record.ResVersion}
		if row == nil || row.Version != read {
			outcomes[i] = decision.Stale
			continue
		}
		outcomes[i] = decision.Updated
		var assignments []assignment
		if r.Content {
			assignments = contentOf(r.Record)
		}
		if r.Index {
			assignments = append(assignments, indexOf(r.Record)...)
		}
		if err := b.updateRow(ctx, r.Record.UID, assignments); err != nil {
			return fmt.Errorf("update row of %s/%s: %w", r.Record.Namespace, r.Record.Name, err)
		}
		if r.Pairs {
			b.changes = append(b.changes, &change{Record: r.Record, Version: read, exists: true, outcome: decision.Updated})
		}
	}
	return b.syncAllPairs(ctx)
}

package writer

import (
	"context"
	"fmt"
	"sort"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/record"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
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

// Rewrite rewrites rows in one transaction. A row that holds another version by now is
// Stale and stays as it is, and so is one that no longer exists. There are no change events,
// and the time of the last update stays: the objects did not change. The outcomes are parallel
// to the rewrites, which must be of different objects, at most a few hundred.
func (w *Writer) Rewrite(ctx context.Context, kind *registry.Kind, rewrites []Rewrite) ([]Outcome, error) {
	if len(rewrites) == 0 {
		return nil, nil
	}
	outcomes := make([]Outcome, len(rewrites))
	order := make([]int, len(rewrites))
	for i := range order {
		order[i] = i
	}
	sort.Slice(order, func(i, j int) bool { return rewrites[order[i]].Record.UID < rewrites[order[j]].Record.UID })
	err := w.transact(ctx, kind, len(rewrites), func(ctx context.Context, b *batch) error {
		return b.rewrite(ctx, rewrites, order, outcomes)
	})
	if err != nil {
		return nil, err
	}
	return outcomes, nil
}

func (b *batch) rewrite(ctx context.Context, rewrites []Rewrite, order []int, outcomes []Outcome) error {
	b.outbox = false
	records := make([]*record.Record, 0, len(rewrites))
	for _, i := range order {
		records = append(records, rewrites[i].Record)
	}
	held, err := b.lock(ctx, records)
	if err != nil {
		return fmt.Errorf("look at rows: %w", err)
	}
	for _, i := range order {
		r := &rewrites[i]
		row, read := held[r.Record.UID], version{incarnation: r.Incarnation, res: r.Record.ResVersion}
		if row == nil || row.version != read {
			outcomes[i] = Stale
			continue
		}
		outcomes[i] = Updated
		var assignments []assignment
		if r.Content {
			assignments = contentOf(r.Record)
		}
		if r.Index {
			assignments = append(assignments, indexOf(r.Record)...)
		}
		if err := b.set(ctx, r.Record.UID, assignments); err != nil {
			return fmt.Errorf("write the row of %s/%s: %w", r.Record.Namespace, r.Record.Name, err)
		}
		if r.Pairs {
			b.changes = append(b.changes, &change{Record: r.Record, version: read, exists: true, outcome: Updated})
		}
	}
	return b.allPairs(ctx)
}

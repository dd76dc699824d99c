package writer

import (
	"context"
	"slices"

	"github.com/flotilla-dev/flotilla/libs/contract"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/schema"
)

// operations are the change events of the outcomes that were written.
var operations = map[Outcome]contract.ChangeOperation{
	Created:    contract.ChangeCreated,
	Updated:    contract.ChangeUpdated,
	Restored:   contract.ChangeRestored,
	Deleted:    contract.ChangeDeleted,
	Superseded: contract.ChangeDeleted,
	Evicted:    contract.ChangeEvicted,
}

const outboxColumns = 9

// announce adds one outbox row for each change. What ends comes first: readers of a
// name see the old object end before the new one begins.
func (b *batch) announce(ctx context.Context, closed []rival) error {
	changes := slices.DeleteFunc(slices.Clone(b.changes), func(c *change) bool { return c.outcome == Amended })
	n := len(closed) + len(changes)
	args := make([]any, 0, n*outboxColumns)
	for _, o := range closed {
		args = append(args, b.kind.Singular, o.namespace, o.name, o.uid, o.generation, o.res,
			string(contract.ChangeDeleted), b.now, "")
	}
	slices.SortStableFunc(changes, func(x, y *change) int { return ends(y) - ends(x) })
	for _, c := range changes {
		args = append(args, b.kind.Singular, c.Namespace, c.Name, c.UID, c.Generation, c.res,
			string(operations[c.outcome]), b.now, c.TraceParent)
	}
	for from, to := range b.statements.cut(n) {
		query := func() string {
			return "INSERT INTO " + schema.Quote(schema.OutboxTable) +
				" (kind, namespace, name, uid, generation, res_version, operation, committed_at, traceparent) VALUES " +
				tuples(to-from, outboxColumns)
		}
		name := statement{schema.OutboxTable, "announce", to - from}
		if _, err := b.exec(ctx, name, query, args[from*outboxColumns:to*outboxColumns]); err != nil {
			return err
		}
	}
	return nil
}

// ends is 1 for a row that is closed after the batch.
func ends(c *change) int {
	if c.outcome == Superseded || c.outcome == Deleted {
		return 1
	}
	return 0
}

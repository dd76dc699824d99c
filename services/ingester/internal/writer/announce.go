package writer

import (
	"context"
	"slices"
	"strings"

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

// announce adds one outbox row for each change. Closed rivals come first: readers
// of a name see the old object end before the new one begins.
func (b *batch) announce(ctx context.Context, closed []rival) error {
	n := len(closed) + len(b.changes)
	args := make([]any, 0, n*outboxColumns)
	for _, o := range closed {
		args = append(args, b.kind.Singular, o.namespace, o.name, o.uid, o.generation, o.res,
			string(contract.ChangeDeleted), b.now, "")
	}
	changes := slices.Clone(b.changes)
	slices.SortStableFunc(changes, func(x, y *change) int { return ends(y) - ends(x) })
	for _, c := range changes {
		args = append(args, b.kind.Singular, c.Namespace, c.Name, c.UID, c.Generation, c.res,
			string(operations[c.outcome]), b.now, c.TraceParent)
	}
	query := "INSERT INTO " + schema.Quote(schema.OutboxTable) +
		" (kind, namespace, name, uid, generation, res_version, operation, committed_at, traceparent) VALUES " +
		strings.TrimSuffix(strings.Repeat(placeholders(outboxColumns)+", ", n), ", ")
	_, err := b.tx.ExecContext(ctx, query, args...)
	return err
}

// ends is 1 for a row that lost its name to a newer object of the same batch.
func ends(c *change) int {
	if c.outcome == Superseded {
		return 1
	}
	return 0
}

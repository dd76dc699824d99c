package batch

import (
	"context"
	"slices"
	"strings"

	"github.com/flotilla-dev/flotilla/libs/contract"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/schema"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/writer/decision"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/writer/statement"
)

// operations maps the outcomes that are written to change events.
var operations = map[decision.Outcome]contract.ChangeOperation{
	decision.Created:    contract.ChangeCreated,
	decision.Updated:    contract.ChangeUpdated,
	decision.Restored:   contract.ChangeRestored,
	decision.Deleted:    contract.ChangeDeleted,
	decision.Superseded: contract.ChangeDeleted,
	decision.Evicted:    contract.ChangeEvicted,
}

// outboxRow is one row of an insert, and outboxArguments the number of its arguments. The commit time is from the server's
// clock, read while the rows of the objects are locked: it orders the events of an object, also those of two ingesters.
const (
	outboxRow       = ", (?, ?, ?, ?, ?, ?, ?, UTC_TIMESTAMP(6), ?)"
	outboxArguments = 8
)

// insertOutbox adds one outbox row for each change, closed rows first: readers of a name get the
// event of the old object before that of the new one.
func (b *batch) insertOutbox(ctx context.Context, closed []liveRow) error {
	changes := slices.DeleteFunc(slices.Clone(b.changes), func(c *change) bool { return c.outcome == decision.Amended })
	n := len(closed) + len(changes)
	args := make([]any, 0, n*outboxArguments)
	for _, o := range closed {
		args = append(args, b.kind.Singular, o.namespace, o.name, o.uid, o.generation, o.ResVersion,
			string(contract.ChangeDeleted), "")
	}
	slices.SortStableFunc(changes, func(x, y *change) int { return closedCount(y) - closedCount(x) })
	for _, c := range changes {
		args = append(args, b.kind.Singular, c.Namespace, c.Name, c.UID, c.Generation, c.Version.ResVersion,
			string(operations[c.outcome]), c.TraceParent)
	}
	for from, to := range b.statements.Split(n) {
		query := func() string {
			return "INSERT INTO " + schema.Quote(schema.OutboxTable) +
				" (kind, namespace, name, uid, generation, res_version, operation, committed_at, traceparent) VALUES " +
				strings.Repeat(outboxRow, to-from)[len(", "):]
		}
		name := statement.Name{Table: schema.OutboxTable, Action: "announce", Rows: to - from}
		if err := b.exec(ctx, name, query, args[from*outboxArguments:to*outboxArguments]); err != nil {
			return err
		}
	}
	return nil
}

// closedCount returns 1 for a row that is closed after the batch, else 0.
func closedCount(c *change) int {
	if c.outcome == decision.Superseded || c.outcome == decision.Deleted {
		return 1
	}
	return 0
}

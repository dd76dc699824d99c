package accept

import (
	"context"
	"fmt"
	"slices"

	"github.com/flotilla-dev/flotilla/libs/contract"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/rows"
)

// LastEvent returns the last change event of a name, or nil without one.
type LastEvent func(ctx context.Context, kind *registry.Kind, namespace, name string) (*contract.Change, error)

// batchSize bounds the rows of one transaction.
const batchSize = 100

// replay brings rows without an object up to date: it closes those of deleted objects and
// marks the others, each of which may be the only copy, as evicted. All kinds are complete
// before anything is accepted.
func (c *Command) replay(ctx context.Context, env Env, result *Result) error {
	if err := env.Settle(ctx); err != nil {
		return err
	}
	for _, kind := range env.Kinds.Kinds() {
		alone, held, err := compare(ctx, env, kind)
		if err != nil {
			return fmt.Errorf("compare %s: %w", kind.Name, err)
		}
		for part := range slices.Chunk(alone, batchSize) {
			if err := c.replayRows(ctx, env, kind, part, result); err != nil {
				return err
			}
		}
		for _, key := range held {
			one, err := keepHeld(ctx, env, kind, key)
			if err != nil {
				return fmt.Errorf("keep %s %s: %w", kind.Name, key, err)
			}
			result.Kept = append(result.Kept, one...)
		}
	}
	return nil
}

func (c *Command) replayRows(ctx context.Context, env Env, kind *registry.Kind, part []rows.Row, result *Result) error {
	var deleted, others []rows.Row
	for _, r := range part {
		if c.wasDeleted(ctx, env, kind, r) {
			deleted = append(deleted, r)
		} else {
			others = append(others, r)
		}
	}
	if _, err := env.Store.KeepRows(ctx, kind, others); err != nil {
		return fmt.Errorf("keep rows of %s: %w", kind.Name, err)
	}
	if _, err := env.Store.CloseRows(ctx, kind, deleted); err != nil {
		return fmt.Errorf("close rows of %s: %w", kind.Name, err)
	}
	for _, r := range others {
		result.Kept = append(result.Kept, Row{kind.Name, r.Namespace, r.Name, r.UID})
	}
	for _, r := range deleted {
		result.Closed = append(result.Closed, Row{kind.Name, r.Namespace, r.Name, r.UID})
	}
	return nil
}

// wasDeleted reports whether the stream shows that the object of the row was deleted. A row
// without such an event, also because the stream cannot be read, may be the only copy.
func (c *Command) wasDeleted(ctx context.Context, env Env, kind *registry.Kind, r rows.Row) bool {
	if c.LastEvent == nil {
		return false
	}
	change, err := c.LastEvent(ctx, kind, r.Namespace, r.Name)
	if err != nil {
		env.Log.Error(err, "Failed to read the stream of change events, keeping the rows without an object")
		c.LastEvent = nil // the next row would wait for its timeout too
		return false
	}
	return change != nil && change.Object.UID == r.UID && change.Operation == contract.ChangeDeleted
}

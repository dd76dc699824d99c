package accept

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/flotilla-dev/flotilla/libs/contract"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/outbox"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/rows"
)

// batchSize is the maximum number of rows in one transaction.
const batchSize = 100

// replayer closes rows without an object, or marks them as evicted.
type replayer struct {
	Env
	stream jetstream.JetStream // nil without a bus
	result *Result
}

// replay closes the rows of deleted objects and marks the others without an object, each of which
// may be the only copy, as evicted. All kinds are complete before anything is accepted.
func replay(ctx context.Context, env Env, result *Result) (err error) {
	r := &replayer{Env: env, result: result}
	if env.Bus != nil {
		conn, connErr := env.Bus()
		if connErr != nil {
			return connErr
		}
		defer func() { err = errors.Join(err, conn.Close(ctx)) }()
		r.stream = conn.JetStream()
	}
	if err := env.SetIncarnation(ctx); err != nil {
		return err
	}
	for _, kind := range env.Kinds.Kinds() {
		if err := r.kind(ctx, kind); err != nil {
			return err
		}
	}
	return nil
}

func (r *replayer) kind(ctx context.Context, kind *registry.Kind) error {
	orphans, released, err := compare(ctx, r.Env, kind)
	if err != nil {
		return fmt.Errorf("compare %s: %w", kind.Name, err)
	}
	for part := range slices.Chunk(orphans, batchSize) {
		if err := r.rows(ctx, kind, part); err != nil {
			return err
		}
	}
	for _, key := range released {
		kept, err := evictReleased(ctx, r.Env, kind, key)
		if err != nil {
			return fmt.Errorf("keep %s %s: %w", kind.Name, key, err)
		}
		r.result.Kept = append(r.result.Kept, kept...)
	}
	return nil
}

func (r *replayer) rows(ctx context.Context, kind *registry.Kind, part []rows.Row) error {
	var deleted, others []rows.Row
	for _, row := range part {
		isDeleted, err := r.wasDeleted(ctx, kind, row)
		switch {
		case err != nil:
			return err
		case isDeleted:
			deleted = append(deleted, row)
		default:
			others = append(others, row)
		}
	}
	if _, err := r.Store.EvictRows(ctx, kind, others); err != nil {
		return fmt.Errorf("keep rows of %s: %w", kind.Name, err)
	}
	if _, err := r.Store.CloseRows(ctx, kind, deleted); err != nil {
		return fmt.Errorf("close rows of %s: %w", kind.Name, err)
	}
	r.result.Kept = append(r.result.Kept, printed(kind, others)...)
	r.result.Closed = append(r.result.Closed, printed(kind, deleted)...)
	return nil
}

func printed(kind *registry.Kind, from []rows.Row) (out []Row) {
	for _, row := range from {
		out = append(out, Row{kind.Name, row.Namespace, row.Name, row.UID})
	}
	return out
}

// wasDeleted reports whether the stream shows that the object of the row was deleted. A row without
// such an event may be the only copy.
func (r *replayer) wasDeleted(ctx context.Context, kind *registry.Kind, row rows.Row) (bool, error) {
	if r.stream == nil {
		return false, nil
	}
	change, err := outbox.LastEvent(ctx, r.stream, contract.Ref{
		Cluster: r.Cluster, Namespace: row.Namespace, Kind: contract.Kind(kind.Singular), Name: row.Name,
	})
	if err != nil && !errors.Is(err, outbox.ErrNotAnEvent) {
		return false, fmt.Errorf("read the change events of %s %s/%s: %w. Repeat the command when NATS is available, or set --nats-url= to keep all rows without an object",
			kind.Name, row.Namespace, row.Name, err)
	}
	return change != nil && change.Object.UID == row.UID && change.Operation == contract.ChangeDeleted, nil
}

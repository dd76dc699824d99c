package outbox

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// row is one row of the outbox table.
type row struct {
	id                         int64
	kind, namespace, name, uid string
	generation, resVersion     int64
	operation                  string
	committedAt                time.Time
	traceParent                string
}

// key names the object whose events must stay in order.
func (r *row) key() string { return r.kind + "/" + r.namespace + "/" + r.name }

// read returns the first rows after an id, without those of held kinds.
func (r *Relay) read(ctx context.Context, after int64) ([]*row, error) {
	where, args := "id > ?", []any{after}
	if held := r.heldKinds(); len(held) > 0 {
		where += " AND kind NOT IN (" + marks(len(held)) + ")"
		for _, kind := range held {
			args = append(args, kind)
		}
	}
	return r.query(ctx, where, args, window)
}

const columns = "id, kind, namespace, name, uid, generation, res_version, operation, committed_at, traceparent"

// query returns the first rows that match a condition.
func (r *Relay) query(ctx context.Context, where string, args []any, limit int) (out []*row, err error) {
	defer r.cfg.Metrics.Statement(r.cfg.Clock, "outbox_read")()
	rows, err := r.cfg.DB.QueryContext(ctx, "SELECT "+columns+" FROM outbox WHERE "+where+" ORDER BY id LIMIT ?", //nolint:gosec // values are arguments
		append(args, limit)...)
	if err != nil {
		return nil, fmt.Errorf("read outbox: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		o := &row{}
		if err := rows.Scan(&o.id, &o.kind, &o.namespace, &o.name, &o.uid, &o.generation, &o.resVersion,
			&o.operation, &o.committedAt, &o.traceParent); err != nil {
			return nil, fmt.Errorf("read outbox: %w", err)
		}
		out = append(out, o)
	}
	return out, rows.Err()
}

func marks(n int) string { return strings.TrimSuffix(strings.Repeat("?, ", n), ", ") }

func (r *Relay) removeDetached(ctx context.Context, ids []int64) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ackTimeout)
	defer cancel()
	return r.remove(ctx, ids)
}

func (r *Relay) remove(ctx context.Context, ids []int64) error {
	if len(ids) == 0 {
		return nil
	}
	args := make([]any, 0, len(ids))
	for _, id := range ids {
		args = append(args, id)
	}
	defer r.cfg.Metrics.Statement(r.cfg.Clock, "outbox_remove")()
	if _, err := r.cfg.DB.ExecContext(ctx, "DELETE FROM outbox WHERE id IN ("+marks(len(ids))+")", args...); err != nil { //nolint:gosec // names of the schema; values are arguments
		return fmt.Errorf("remove acknowledged events: %w", err)
	}
	return nil
}

package outbox

import (
	"context"
	"database/sql"
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

func (r *Relay) read(ctx context.Context) (out []*row, err error) {
	rows, err := r.cfg.DB.QueryContext(ctx, "SELECT id, kind, namespace, name, uid, generation, res_version, operation, committed_at, traceparent"+
		" FROM outbox ORDER BY id LIMIT ?", window)
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

func (r *Relay) remove(ctx context.Context, ids []int64) error {
	if len(ids) == 0 {
		return nil
	}
	args := make([]any, 0, len(ids))
	for _, id := range ids {
		args = append(args, id)
	}
	marks := strings.TrimSuffix(strings.Repeat("?, ", len(ids)), ", ")
	if _, err := r.cfg.DB.ExecContext(ctx, "DELETE FROM outbox WHERE id IN ("+marks+")", args...); err != nil {
		return fmt.Errorf("remove acknowledged events: %w", err)
	}
	return nil
}

// measure sets the gauges and keeps the table within its bound.
func (r *Relay) measure(ctx context.Context) {
	var depth int64
	var oldest sql.NullTime
	err := r.cfg.DB.QueryRowContext(ctx, "SELECT COUNT(*), (SELECT committed_at FROM outbox ORDER BY id LIMIT 1) FROM outbox").Scan(&depth, &oldest)
	if err != nil {
		return // the relay reports a database that is away
	}
	r.cfg.Metrics.Depth.Set(float64(depth))
	lag := time.Duration(0)
	if oldest.Valid {
		lag = r.cfg.Clock.Since(oldest.Time)
	}
	r.cfg.Metrics.OutboxLag.Set(lag.Seconds())
	if depth <= r.cfg.MaxRows {
		return
	}
	dropped, err := r.compact(ctx, depth-r.cfg.MaxRows)
	r.cfg.Metrics.Compacted.Add(float64(dropped))
	if err != nil && ctx.Err() == nil {
		r.cfg.Log.Error(err, "Kept the outbox too long")
	}
}

// compact drops up to excess events that a later event of the same object
// supersedes, oldest first. The last event of an object is never dropped.
func (r *Relay) compact(ctx context.Context, excess int64) (int64, error) {
	result, err := r.cfg.DB.ExecContext(ctx, "DELETE FROM outbox WHERE id IN (SELECT id FROM ("+
		"SELECT o.id FROM outbox o JOIN (SELECT uid, MAX(id) AS last FROM outbox GROUP BY uid) l ON l.uid = o.uid"+
		" WHERE o.id < l.last ORDER BY o.id LIMIT ?) AS superseded)", excess)
	if err != nil {
		return 0, fmt.Errorf("compact outbox: %w", err)
	}
	return result.RowsAffected()
}

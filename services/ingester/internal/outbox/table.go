package outbox

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/database"
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

const (
	columns    = "id, kind, namespace, name, uid, generation, res_version, operation, committed_at, traceparent"
	selectRows = "SELECT " + columns + " FROM outbox"
)

// read returns the first rows, without those of held kinds. While a kind is held, it reads each other kind by its index: one
// condition for all of them would walk over the rows of the held kind, which grow. Rows of unknown kinds wait until then.
func (r *Relay) read(ctx context.Context) ([]*row, error) {
	if len(r.held) == 0 {
		return r.query(ctx, selectRows+" ORDER BY id LIMIT ?", window)
	}
	var parts []string
	var args []any
	for _, kind := range r.openKinds() {
		parts = append(parts, "("+selectRows+" WHERE kind = ? ORDER BY id LIMIT ?)")
		args = append(args, kind, window)
	}
	if len(parts) == 0 {
		return nil, nil
	}
	return r.query(ctx, "SELECT "+columns+" FROM ("+strings.Join(parts, " UNION ALL ")+") AS kinds ORDER BY id LIMIT ?", append(args, window)...)
}

// readKind returns the first rows of a kind after an id.
func (r *Relay) readKind(ctx context.Context, kind string, after int64, limit int) ([]*row, error) {
	return r.query(ctx, selectRows+" WHERE kind = ? AND id > ? ORDER BY id LIMIT ?", kind, after, limit)
}

func (r *Relay) query(ctx context.Context, statement string, args ...any) (out []*row, err error) {
	defer r.cfg.Metrics.Statement(r.cfg.Clock, "outbox_read")()
	err = database.EachRow(ctx, r.cfg.DB, statement, args, func(rows *sql.Rows) error {
		o := &row{}
		out = append(out, o)
		return rows.Scan(&o.id, &o.kind, &o.namespace, &o.name, &o.uid, &o.generation, &o.resVersion,
			&o.operation, &o.committedAt, &o.traceParent)
	})
	if err != nil {
		return nil, fmt.Errorf("read outbox: %w", err)
	}
	return out, nil
}

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
	marks := strings.TrimSuffix(strings.Repeat("?, ", len(ids)), ", ")
	if _, err := r.cfg.DB.ExecContext(ctx, "DELETE FROM outbox WHERE id IN ("+marks+")", args...); err != nil { //nolint:gosec // names of the schema; values are arguments
		return fmt.Errorf("remove acknowledged events: %w", err)
	}
	return nil
}

package writer

import (
	"context"
	"database/sql"
	"fmt"
	"sort"
	"time"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/rows"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/schema"
)

// CloseRows closes rows as they are, for objects whose final state is lost, and
// adds their change events in the same transaction. A row that is closed already is
// Unchanged; one that holds another version than the given one, or was evicted
// meanwhile, is Stale and stays.
// The outcomes are parallel to the rows. Pass at most a few hundred rows.
func (w *Writer) CloseRows(ctx context.Context, kind *registry.Kind, wanted []rows.Row) ([]Outcome, error) {
	if len(wanted) == 0 {
		return nil, nil
	}
	var outcomes []Outcome
	err := w.retry(ctx, kind.Name, len(wanted), func(ctx context.Context) (err error) {
		outcomes, err = w.closeRows(ctx, kind, wanted)
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, o := range outcomes {
		if o == Deleted {
			w.cfg.Metrics.Deletes.WithLabelValues(kind.Name).Inc()
		}
	}
	return outcomes, nil
}

func (w *Writer) closeRows(ctx context.Context, kind *registry.Kind, wanted []rows.Row) (outcomes []Outcome, err error) {
	tx, err := w.cfg.DB.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return nil, fmt.Errorf("begin: %w", err)
	}
	defer func() {
		if err != nil {
			err = withRollback(err, tx.Rollback())
		}
	}()
	b := &batch{tx: tx, kind: kind, now: w.cfg.Clock.Now().UTC().Truncate(time.Microsecond), outbox: w.cfg.Outbox, measure: w.measure}
	closed, outcomes, err := b.choose(ctx, wanted)
	if err != nil {
		return nil, fmt.Errorf("look at rows: %w", err)
	}
	if len(closed) == 0 {
		return outcomes, tx.Rollback()
	}
	if err := b.closeAsTheyAre(ctx, closed); err != nil {
		return nil, err
	}
	if err := tx.Commit(); err != nil {
		return nil, fmt.Errorf("commit: %w", err)
	}
	if b.outbox {
		w.cfg.OnCommit()
	}
	return outcomes, nil
}

// choose locks the rows in the order of their uids and decides the outcome of each.
func (b *batch) choose(ctx context.Context, wanted []rows.Row) (closed []rival, outcomes []Outcome, err error) {
	args := make([]any, 0, len(wanted))
	for _, r := range wanted {
		args = append(args, r.UID)
	}
	found := map[string]rival{}
	open, evicted := map[string]bool{}, map[string]bool{}
	query := "SELECT uid, namespace, name, incarnation, res_version, delete_time IS NULL, evict_time IS NOT NULL," +
		" COALESCE(JSON_UNQUOTE(JSON_EXTRACT(json, '$.metadata.generation')), '0') FROM " + schema.Quote(b.kind.Table) +
		" FORCE INDEX (PRIMARY) WHERE uid IN " + placeholders(len(args)) + " ORDER BY uid FOR UPDATE"
	err = each(ctx, b.tx, query, args, func(r *sql.Rows) error {
		var o rival
		var live, left bool
		if err := r.Scan(&o.uid, &o.namespace, &o.name, &o.incarnation, &o.res, &live, &left, &o.generation); err != nil {
			return err
		}
		found[o.uid], open[o.uid], evicted[o.uid] = o, live, left
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	for _, r := range wanted {
		o, ok := found[r.UID]
		switch {
		case !ok || !open[r.UID]:
			outcomes = append(outcomes, Unchanged)
		case o.version != version{incarnation: r.Incarnation, res: r.ResVersion}, evicted[r.UID] != r.Evicted():
			outcomes = append(outcomes, Stale)
		default:
			outcomes = append(outcomes, Deleted)
			open[r.UID] = false // named twice, it is closed once
			closed = append(closed, o)
		}
	}
	sort.Slice(closed, func(i, j int) bool { return closed[i].uid < closed[j].uid })
	return closed, outcomes, nil
}

func (b *batch) closeAsTheyAre(ctx context.Context, closed []rival) error {
	args := []any{b.now, b.now}
	for _, o := range closed {
		args = append(args, o.uid)
	}
	query := "UPDATE " + schema.Quote(b.kind.Table) + " SET delete_time = ?, update_time = ? WHERE uid IN " + placeholders(len(closed))
	if _, err := b.tx.ExecContext(ctx, query, args...); err != nil {
		return fmt.Errorf("close rows: %w", err)
	}
	if !b.outbox {
		return nil
	}
	if err := b.announce(ctx, closed); err != nil {
		return fmt.Errorf("write outbox: %w", err)
	}
	return nil
}

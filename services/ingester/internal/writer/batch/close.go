package batch

import (
	"context"
	"database/sql"
	"fmt"
	"sort"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/database"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/record"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/rows"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/schema"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/writer/decision"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/writer/statement"
)

// CloseRows closes rows with their stored content and adds their change events. A row that is
// closed already is Unchanged; one that has another version, or was evicted meanwhile, is Stale
// and stays. The outcomes are parallel to the rows.
func (r *Runner) CloseRows(ctx context.Context, kind *registry.Kind, targets []rows.Row) (outcomes []decision.Outcome, err error) {
	err = r.transact(ctx, kind, func(b *batch) (bool, error) {
		var closed []liveRow
		var err error
		if closed, outcomes, err = b.lockVersions(ctx, targets); err != nil {
			return false, fmt.Errorf("lock rows: %w", err)
		}
		if len(closed) == 0 {
			return false, nil
		}
		return true, b.closeRows(ctx, closed)
	})
	return outcomes, err
}

// lockVersions locks the rows in the order of their uids and decides the outcome of each.
func (b *batch) lockVersions(ctx context.Context, targets []rows.Row) (closed []liveRow, outcomes []decision.Outcome, err error) {
	args := make([]any, 0, len(targets))
	for _, r := range targets {
		args = append(args, r.UID)
	}
	found := map[string]liveRow{}
	open, evicted := map[string]bool{}, map[string]bool{}
	query := "SELECT uid, namespace, name, incarnation, res_version, delete_time IS NULL, evict_time IS NOT NULL," +
		" COALESCE(JSON_UNQUOTE(JSON_EXTRACT(json, '$.metadata.generation')), '0') FROM " + schema.Quote(b.kind.Table) +
		" FORCE INDEX (PRIMARY) WHERE uid IN " + statement.Placeholders(len(args)) + " ORDER BY uid FOR UPDATE"
	err = database.EachRow(ctx, b.tx, query, args, func(r *sql.Rows) error {
		var o liveRow
		var live, isEvicted bool
		if err := r.Scan(&o.uid, &o.namespace, &o.name, &o.Incarnation, &o.ResVersion, &live, &isEvicted, &o.generation); err != nil {
			return err
		}
		found[o.uid], open[o.uid], evicted[o.uid] = o, live, isEvicted
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	for _, r := range targets {
		o, ok := found[r.UID]
		switch {
		case !ok || !open[r.UID]:
			outcomes = append(outcomes, decision.Unchanged)
		case o.Version != decision.Version{Incarnation: r.Incarnation, ResVersion: r.ResVersion}, evicted[r.UID] != r.Evicted():
			outcomes = append(outcomes, decision.Stale)
		default:
			outcomes = append(outcomes, decision.Deleted)
			open[r.UID] = false // named twice, it is closed once
			closed = append(closed, o)
		}
	}
	sort.Slice(closed, func(i, j int) bool { return closed[i].uid < closed[j].uid })
	return closed, outcomes, nil
}

// closeRows sets the delete time of locked rows and adds their change events.
func (b *batch) closeRows(ctx context.Context, closed []liveRow) error {
	args := []any{b.now, b.now}
	for _, o := range closed {
		args = append(args, o.uid)
	}
	query := "UPDATE " + schema.Quote(b.kind.Table) + " SET delete_time = ?, update_time = ? WHERE uid IN " + statement.Placeholders(len(closed)) //nolint:gosec // names of the schema; values are arguments
	if _, err := b.tx.ExecContext(ctx, query, args...); err != nil {
		return fmt.Errorf("close rows: %w", err)
	}
	if !b.outbox {
		return nil
	}
	if err := b.insertOutbox(ctx, closed); err != nil {
		return fmt.Errorf("write outbox: %w", err)
	}
	return nil
}

// EvictRows marks live rows as evicted with their stored content and adds their change events. A
// row that has changed meanwhile is Stale and one that is closed Unchanged, as in CloseRows. It
// returns the number of rows that it marked.
func (r *Runner) EvictRows(ctx context.Context, kind *registry.Kind, targets []rows.Row) (evicted int, err error) {
	err = r.transact(ctx, kind, func(b *batch) (bool, error) {
		chosen, _, err := b.lockVersions(ctx, targets)
		if err != nil {
			return false, fmt.Errorf("lock rows: %w", err)
		}
		evicted = len(chosen)
		return evicted > 0, b.evictRows(ctx, chosen)
	})
	return evicted, err
}

func (b *batch) evictRows(ctx context.Context, chosen []liveRow) error {
	if len(chosen) == 0 {
		return nil
	}
	args := []any{b.now, b.now}
	for _, o := range chosen {
		args = append(args, o.uid)
		b.changes = append(b.changes, &change{
			Record:  &record.Record{Kind: b.kind, UID: o.uid, Namespace: o.namespace, Name: o.name, Generation: o.generation},
			Version: o.Version, outcome: decision.Evicted,
		})
	}
	query := "UPDATE " + schema.Quote(b.kind.Table) + " SET evict_time = ?, update_time = ? WHERE uid IN " + statement.Placeholders(len(chosen)) //nolint:gosec // names of the schema; values are arguments
	if _, err := b.tx.ExecContext(ctx, query, args...); err != nil {
		return fmt.Errorf("mark rows as evicted: %w", err)
	}
	if !b.outbox {
		return nil
	}
	if err := b.insertOutbox(ctx, nil); err != nil {
		return fmt.Errorf("write outbox: %w", err)
	}
	return nil
}

package verify

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/accept"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/command"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/decide"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/rows"
	tables "github.com/flotilla-dev/flotilla/services/ingester/internal/schema"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/sweep"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/writer"
	"github.com/flotilla-dev/flotilla/services/ingester/storage"
)

// RepairResult is the result of Repair.
type RepairResult struct {
	// Stored counts objects that were stored again, Closed rows that were closed.
	Stored int `json:"stored"`
	Closed int `json:"closed"`
	// Left lists the differences that were not repaired, each with the reason.
	Left []Unrepaired `json:"left"`
}

// Unrepaired is a difference that was not repaired.
type Unrepaired struct {
	Difference
	Reason string `json:"why"`
}

// Repair repairs the differences of a report. Force disables the limit of closed rows.
func Repair(ctx context.Context, env Env, report Report, force bool) (RepairResult, error) {
	if err := env.SetIncarnation(ctx); err != nil {
		return RepairResult{}, err
	}
	m := &repairer{env: env, result: RepairResult{Left: []Unrepaired{}}}
	for _, counts := range report.Kinds {
		kind, _ := env.Kinds.Lookup(counts.Kind)
		var closing []Difference
		for _, d := range report.Differences {
			if d.Kind != kind.Name {
				continue
			}
			if d.Type == Orphan || d.Type == Duplicate {
				closing = append(closing, d)
				continue
			}
			if err := m.repair(ctx, kind, d); err != nil {
				return m.result, fmt.Errorf("repair %s %s/%s: %w", d.Kind, d.Namespace, d.Name, err)
			}
		}
		if err := m.closeRows(ctx, kind, closing, counts.Rows, force); err != nil {
			return m.result, fmt.Errorf("close rows of %s: %w", kind.Name, err)
		}
	}
	return m.result, nil
}

type repairer struct {
	env    Env
	result RepairResult
}

func (m *repairer) skip(d Difference, format string, args ...any) {
	m.result.Left = append(m.result.Left, Unrepaired{d, fmt.Sprintf(format, args...)})
}

func (m *repairer) repair(ctx context.Context, kind *registry.Kind, d Difference) error {
	switch d.Type {
	case Evicted:
		m.skip(d, "rows of evicted objects are never changed: delete the object or the row")
		return nil
	case Ahead:
		m.skip(d, "the cluster or the database was restored to an earlier state: restart the ingester, which bumps the incarnation")
		return nil
	case Finalizer:
		m.skip(d, "a running ingester adds the finalizer")
		return nil
	case Terminating:
		m.skip(d, "a running ingester removes the finalizer once MySQL is available")
		return nil
	case Missing, Stale, Orphan, Closed, Duplicate, Content:
	}
	var live unstructured.Unstructured
	live.SetGroupVersionKind(kind.GVK())
	err := m.env.Client.Get(ctx, types.NamespacedName{Namespace: d.Namespace, Name: d.Name}, &live)
	switch {
	case apierrors.IsNotFound(err) || (err == nil && string(live.GetUID()) != d.UID):
		if d.Type == Content {
			m.skip(d, "the object does not exist: rewrite the row from its JSON with ingester backfill")
		}
		return nil // deleted since: no difference, or an orphan in the next comparison
	case err != nil:
		return command.Explain(err)
	}
	return m.store(ctx, kind, d, &live)
}

// store stores an object as the ingester would, if that does not change the object.
func (m *repairer) store(ctx context.Context, kind *registry.Kind, d Difference, live *unstructured.Unstructured) error {
	var err error
	switch action := decide.For(decide.Observe(live, kind.Immutable && m.env.EvictImmutableKinds)); action {
	case decide.Adopt, decide.Sync:
		if d.Type == Content {
			if err := m.makeStale(ctx, kind, live); err != nil {
				return err
			}
		}
		err = m.env.Store.Reopen(ctx, live)
	case decide.Finish:
		err = m.env.Store.Finish(ctx, live)
	case decide.Release:
		err = m.env.Store.Release(ctx, live)
	default:
		m.skip(d, "a running ingester deletes the object from the cluster")
		return nil
	}
	switch {
	case errors.Is(err, storage.ErrStale):
		return nil // a newer version is stored
	case errors.Is(err, storage.ErrNotFound):
		return nil // the closed row was deleted meanwhile
	case errors.Is(err, storage.ErrRejected):
		m.skip(d, "%v", err)
		return nil
	case err != nil:
		return err
	}
	m.result.Stored++
	return nil
}

// makeStale makes the row of the object's exact version older than the object, so that
// it is written again. After an interruption here the row is stale; the ingester or the
// next repair corrects it.
func (m *repairer) makeStale(ctx context.Context, kind *registry.Kind, live *unstructured.Unstructured) error {
	_, err := m.env.DB.ExecContext(ctx, "UPDATE "+tables.Quote(kind.Table)+ //nolint:gosec // names of the schema; values are arguments
		" SET incarnation = incarnation - 1 WHERE uid = ? AND res_version = ? AND evict_time IS NULL",
		string(live.GetUID()), live.GetResourceVersion())
	return err
}

// closeBatchSize bounds the rows of one transaction.
const closeBatchSize = 200

// closeRows closes rows whose object no longer exists, among them older rows of a name.
func (m *repairer) closeRows(ctx context.Context, kind *registry.Kind, closing []Difference, live int, force bool) error {
	if len(closing) == 0 {
		return nil
	}
	if err := accept.Behind(ctx, m.env); err != nil {
		for _, d := range closing {
			m.skip(d, "%v", err)
		}
		return nil
	}
	if !force && sweep.TooMany(len(closing), live) {
		for _, d := range closing {
			m.skip(d, "%d of %d rows of %s would be closed, more than %d %%: to close them, set --force", len(closing), live, kind.Name, sweep.ManyPercent)
		}
		return nil
	}
	for len(closing) > 0 {
		part := closing[:min(closeBatchSize, len(closing))]
		closing = closing[len(part):]
		if err := m.closeBatch(ctx, kind, part); err != nil {
			return err
		}
	}
	return nil
}

// closeBatch closes the rows whose object does not exist now. The comparison may have found one that was created
// during the scan, and the older row of a name may belong to an object.
func (m *repairer) closeBatch(ctx context.Context, kind *registry.Kind, batch []Difference) error {
	uids := make([]string, 0, len(batch))
	for _, d := range batch {
		uids = append(uids, d.UID)
	}
	orphans, err := sweep.Confirm(ctx, m.env.Client, m.env.DB, kind, nil, uids)
	if err != nil {
		return command.Explain(err)
	}
	for _, d := range batch {
		if d.Type == Duplicate && !slices.ContainsFunc(orphans, func(r rows.Row) bool { return r.UID == d.UID }) {
			m.skip(d, "the object of the older row exists or was evicted")
		}
	}
	outcomes, err := m.env.Store.CloseRows(ctx, kind, orphans)
	if err != nil {
		return err
	}
	for _, o := range outcomes {
		if o == writer.Deleted {
			m.result.Closed++
		}
	}
	return nil
}

package verify

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/flotilla-dev/flotilla/services/ingester/api"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/accept"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/cmdutil"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/decide"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/rows"
	tables "github.com/flotilla-dev/flotilla/services/ingester/internal/schema"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/writer"
	"github.com/flotilla-dev/flotilla/services/ingester/storage"
)

// When more rows of a kind would be closed than both of these, the command probably
// compares the wrong cluster or the wrong namespaces.
const (
	manyRows    = 100
	manyPercent = 20
)

// Mended is the result of Mend.
type Mended struct {
	// Stored counts objects that were stored again, Closed rows that were closed.
	Stored int `json:"stored"`
	Closed int `json:"closed"`
	// Left lists the differences that were not repaired, each with the reason.
	Left []Unmended `json:"left"`
}

// Unmended is a difference that was not repaired.
type Unmended struct {
	Difference
	Why string `json:"why"`
}

// Mend repairs the differences of a report. Force closes rows however many they are.
func Mend(ctx context.Context, env Env, report Report, force bool) (Mended, error) {
	if err := env.Settle(ctx); err != nil {
		return Mended{}, err
	}
	m := &mender{env: env, result: Mended{Left: []Unmended{}}}
	for _, tally := range report.Kinds {
		kind, _ := env.Kinds.Lookup(tally.Kind)
		var ends []Difference
		for _, d := range report.Differences {
			if d.Kind != kind.Name {
				continue
			}
			if d.What == Orphan || d.What == Duplicate {
				ends = append(ends, d)
				continue
			}
			if err := m.mend(ctx, kind, d); err != nil {
				return m.result, fmt.Errorf("mend %s %s/%s: %w", d.Kind, d.Namespace, d.Name, err)
			}
		}
		if err := m.closeRows(ctx, kind, ends, tally.Rows, force); err != nil {
			return m.result, fmt.Errorf("close rows of %s: %w", kind.Name, err)
		}
	}
	return m.result, nil
}

type mender struct {
	env    Env
	result Mended
}

func (m *mender) leave(d Difference, format string, args ...any) {
	m.result.Left = append(m.result.Left, Unmended{d, fmt.Sprintf(format, args...)})
}

func (m *mender) mend(ctx context.Context, kind *registry.Kind, d Difference) error {
	switch d.What {
	case Evicted:
		m.leave(d, "rows of evicted objects are never touched; delete one of the two")
		return nil
	case Ahead:
		m.leave(d, "the cluster went back: a running ingester notices and raises the incarnation")
		return nil
	case Finalizer:
		m.leave(d, "the ingester puts it on when it runs")
		return nil
	case Terminating:
		m.leave(d, "the ingester takes its finalizer off when it runs and reaches MySQL")
		return nil
	}
	var live unstructured.Unstructured
	live.SetGroupVersionKind(kind.GVK())
	err := m.env.Client.Get(ctx, types.NamespacedName{Namespace: d.Namespace, Name: d.Name}, &live)
	switch {
	case apierrors.IsNotFound(err) || (err == nil && string(live.GetUID()) != d.UID):
		if d.What == Content {
			m.leave(d, "there is no object to store again; ingester backfill rewrites rows from their JSON")
		}
		return nil // deleted since: no difference any more, or an orphan in the next comparison
	case err != nil:
		return cmdutil.Explain(err)
	}
	return m.store(ctx, kind, d, &live)
}

// store stores an object as the ingester would, if that does not change the object.
func (m *mender) store(ctx context.Context, kind *registry.Kind, d Difference, live *unstructured.Unstructured) error {
	var err error
	switch action := decide.For(seen(live)); action {
	case decide.Adopt, decide.Sync:
		if d.What == Content || d.What == Closed {
			if err := m.putBehind(ctx, kind, live); err != nil {
				return err
			}
		}
		err = m.env.Store.Upsert(ctx, live, false, nil)
	case decide.Finish:
		err = m.env.Store.Finish(ctx, live)
	case decide.Release:
		err = m.env.Store.Release(ctx, live)
	default:
		m.leave(d, "the object is to leave the cluster; the ingester does that when it runs")
		return nil
	}
	switch {
	case errors.Is(err, storage.ErrStale):
		return nil // a newer one is stored
	case errors.Is(err, storage.ErrRejected):
		m.leave(d, "%v", err)
		return nil
	case err != nil:
		return err
	}
	m.result.Stored++
	return nil
}

// putBehind makes the row of the object's exact version older than the object, so that
// it is written again. After an interruption here the row is stale, which the ingester
// and the next repair correct.
func (m *mender) putBehind(ctx context.Context, kind *registry.Kind, live *unstructured.Unstructured) error {
	_, err := m.env.DB.ExecContext(ctx, "UPDATE "+tables.Quote(kind.Table)+
		" SET incarnation = incarnation - 1 WHERE uid = ? AND res_version = ? AND evict_time IS NULL",
		string(live.GetUID()), live.GetResourceVersion())
	return err
}

func seen(live *unstructured.Unstructured) decide.Seen {
	annotations := live.GetAnnotations()
	o := decide.Seen{
		Found: true, Terminating: live.GetDeletionTimestamp() != nil,
		DeletingMark: api.IsSet(annotations, api.DeletingAnnotation), ImmutableMark: api.IsSet(annotations, api.ImmutableAnnotation),
	}
	for _, f := range live.GetFinalizers() {
		o.Finalizer = o.Finalizer || f == api.IngesterFinalizer
	}
	return o
}

// rowsOfAClose bounds the rows of one transaction.
const rowsOfAClose = 200

// closeRows closes rows whose object is gone, or whose name a newer row has.
func (m *mender) closeRows(ctx context.Context, kind *registry.Kind, ends []Difference, live int, force bool) error {
	if len(ends) == 0 {
		return nil
	}
	if err := accept.Behind(ctx, m.env); err != nil {
		for _, d := range ends {
			m.leave(d, "%v", err)
		}
		return nil
	}
	if !force && tooMany(len(ends), live) {
		for _, d := range ends {
			m.leave(d, "%d of %d rows of %s would be closed, which is more than %d %%: --force if that is right", len(ends), live, kind.Name, manyPercent)
		}
		return nil
	}
	for len(ends) > 0 {
		part := ends[:min(rowsOfAClose, len(ends))]
		ends = ends[len(part):]
		uids := make([]string, 0, len(part))
		for _, d := range part {
			uids = append(uids, d.UID)
		}
		// The state excludes evicted rows, whatever the comparison found.
		page, err := rows.Page(ctx, m.env.DB, kind, rows.Query{State: rows.Here, UIDs: uids, Limit: len(uids)})
		if err != nil {
			return err
		}
		outcomes, err := m.env.Store.CloseRows(ctx, kind, page)
		if err != nil {
			return err
		}
		for _, o := range outcomes {
			if o == writer.Deleted {
				m.result.Closed++
			}
		}
	}
	return nil
}

func tooMany(closing, live int) bool {
	return closing > manyRows && closing*100 > live*manyPercent
}

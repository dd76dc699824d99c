package httpapi

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/flotilla-dev/flotilla/services/ingester/storage"
)

var deleteCollectionParameters = []string{paramLabels, paramFields, paramLimit, paramContinue, paramDryRun}

// deleteWorkers is the number of objects of a collection that are deleted concurrently.
const deleteWorkers = 8

// deleteCounts counts the outcomes of the objects of a page.
type deleteCounts struct {
	marked, pending, closed, changed, missing atomic.Int64
	// rejections are the names and causes of rejected objects, in the order of the page; "" for the others.
	rejections []string
}

// add counts the object at the index of the page. An object that was deleted in between is not a failure, and a rejected one does not
// stop the others.
func (c *deleteCounts) add(i int, name string, result outcome, err error) error {
	switch {
	case errors.Is(err, errRejected):
		c.rejections[i] = fmt.Sprintf("%q: %s", name, rejected(err))
	case errors.Is(err, errChanged):
		c.changed.Add(1)
	case errors.Is(err, storage.ErrNotFound):
		c.missing.Add(1)
	case err != nil:
		return err
	case result == outcomeClosed:
		c.closed.Add(1)
	case result == outcomePending:
		c.pending.Add(1)
	default:
		c.marked.Add(1)
	}
	return nil
}

// String returns the counts, and the first rejection.
func (c *deleteCounts) String() string {
	rejections := slices.DeleteFunc(slices.Clone(c.rejections), func(text string) bool { return text == "" })
	text := fmt.Sprintf("%d marked for deletion, %d deleted from storage, %d being deleted already, %d not found, %d changed and skipped, %d rejected",
		c.marked.Load(), c.closed.Load(), c.pending.Load(), c.missing.Load(), c.changed.Load(), len(rejections))
	if len(rejections) > 0 {
		text += "; the first is " + rejections[0]
	}
	return text
}

// deleteCollection deletes one page of the objects that match the selectors, and returns their
// number and the continue token. It applies the selectors twice: storage selects by its rows,
// and each object must still match in its current state in the cluster.
func (a *handlers) deleteCollection(w http.ResponseWriter, r *http.Request, t target) error {
	options, err := deleteOptions(r, t)
	if err != nil {
		return err
	}
	if options.Preconditions != nil {
		return apierrors.NewBadRequest("preconditions are for the deletion of one object")
	}
	q, err := parseListRequest(t.parameters)
	if err != nil {
		return err
	}
	selector, err := labels.Parse(q.options.LabelSelector)
	if err != nil {
		return apierrors.NewBadRequest("parameter \"labelSelector\" cannot be read: " + err.Error())
	}
	var page storage.ListResponse
	if err := a.store.List(r.Context(), t.typeMeta(), t.namespace, &q.options, &q.ext, &page); err != nil {
		return fmt.Errorf("list %s: %w", t.kind.Plural, err)
	}
	counts := deleteCounts{rejections: make([]string, len(page.Items))}
	group, ctx := errgroup.WithContext(r.Context())
	group.SetLimit(deleteWorkers)
	for i, item := range page.Items {
		group.Go(func() error {
			stored, err := meta.Accessor(item)
			if err != nil {
				return fmt.Errorf("read a listed object: %w", err)
			}
			itemTarget := t
			itemTarget.name = stored.GetName()
			result, err := a.remove(ctx, itemTarget, options, stillSelected(stored, selector, q.options.FieldSelector != ""))
			return counts.add(i, stored.GetName(), result, err)
		})
	}
	if err := group.Wait(); err != nil {
		return interrupted(t, err, &counts)
	}
	status := done(t, http.StatusAccepted, fmt.Sprintf("%d of %s: %s", len(page.Items), t.kind.Plural, &counts))
	status.Continue, status.RemainingItemCount = page.Continue, page.RemainingItemCount
	return respond(w, r, http.StatusAccepted, sourceStorage, status)
}

// errChanged means that an object no longer matches the selectors.
var errChanged = errors.New("the object changed")

// stillSelected compares an object with the row that storage selected. Storage lags behind the
// cluster, so the object may have changed since: labels are matched again. Only storage can
// compare fields, so with a field selector a changed object is left for the next deletion.
func stillSelected(stored metav1.Object, selector labels.Selector, byField bool) accept {
	return func(now *unstructured.Unstructured) error {
		same := now.GetResourceVersion() == stored.GetResourceVersion()
		if now.GetUID() != stored.GetUID() || !selector.Matches(labels.Set(now.GetLabels())) || byField && !same {
			return errChanged
		}
		return nil
	}
}

// interrupted adds the counts so far to a failure.
func interrupted(t target, err error, counts *deleteCounts) error {
	var known apierrors.APIStatus
	if answer := translate(t, err); errors.As(answer, &known) {
		status := known.Status()
		status.Message += "; the deletion ended early, repeat it: " + counts.String()
		return &failure{StatusError: apierrors.StatusError{ErrStatus: status}, cause: err}
	}
	return err
}

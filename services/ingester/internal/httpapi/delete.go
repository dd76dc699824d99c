package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flotilla-dev/flotilla/services/ingester/api"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/decide"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/listing"
)

var deleteParameters = []string{paramDryRun}

// attempts limits how often a deletion is retried because another object took the name meanwhile.
const attempts = 5

// outcome is the result of a deletion.
type outcome int

const (
	outcomeMarked  outcome = iota // the ingester will delete it
	outcomePending                // it was already being deleted
	outcomeClosed                 // it existed in storage only; its row is closed
)

// deleteOne marks one object for deletion by the ingester, or closes the row of one that is not
// in the cluster.
func (a *handlers) deleteOne(w http.ResponseWriter, r *http.Request, t target) error {
	options, err := deleteOptions(r, t)
	if err != nil {
		return err
	}
	result, err := a.remove(r.Context(), t, options, anyObject)
	if err != nil {
		return err
	}
	prefix := ""
	if dryRun(options) {
		prefix = "dry run: "
	}
	name := fmt.Sprintf("%s%s %q ", prefix, resource(t.kind), t.name)
	switch result {
	case outcomeClosed:
		return respond(w, r, http.StatusOK, sourceStorage, done(t, http.StatusOK, name+"was in storage only and is deleted"))
	case outcomePending:
		return respond(w, r, http.StatusAccepted, sourceCluster, done(t, http.StatusAccepted, name+"is being deleted already"))
	default:
		return respond(w, r, http.StatusAccepted, sourceCluster, done(t, http.StatusAccepted, name+"is marked for deletion"))
	}
}

// accept returns an error unless the object, in its current state, is to be deleted.
type accept func(*unstructured.Unstructured) error

func anyObject(*unstructured.Unstructured) error { return nil }

// remove deletes the object of that name. It decides from the current object and deletes
// with that uid as a precondition. If another object takes the name meanwhile, it decides
// again.
func (a *handlers) remove(ctx context.Context, t target, options *metav1.DeleteOptions, check accept) (outcome, error) {
	var err error
	for range attempts {
		var result outcome
		if result, err = a.removeOnce(ctx, t, options, check); !errors.Is(err, errMoved) {
			return result, err
		}
	}
	return 0, apierrors.NewConflict(resource(t.kind), t.name, err)
}

// errMoved means that the object was replaced, or moved between stores, since it was read.
var errMoved = errors.New("the object changed while it was to be deleted")

func (a *handlers) removeOnce(ctx context.Context, t target, options *metav1.DeleteOptions, check accept) (outcome, error) {
	object, source, err := a.find(ctx, t)
	if err != nil {
		return 0, err
	}
	if err := checkPreconditions(t, object, options.Preconditions); err != nil {
		return 0, err
	}
	if err := check(object); err != nil {
		return 0, err
	}
	if source == sourceStorage {
		if err := a.checkAbsent(ctx, t); err != nil {
			return 0, err
		}
		return outcomeClosed, a.closeRow(ctx, t, object, options)
	}
	if object.GetDeletionTimestamp() != nil || api.IsSet(object.GetAnnotations(), api.DeletingAnnotation) {
		return outcomePending, a.closeReleased(ctx, t, object, options)
	}
	mark := Mark{Namespace: t.namespace, Name: t.name, UID: object.GetUID(), DryRun: dryRun(options)}
	if p := options.Preconditions; p != nil && p.ResourceVersion != nil {
		mark.ResourceVersion = *p.ResourceVersion
	}
	err = a.cluster.MarkDeleting(ctx, t.kind, mark)
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return 0, fmt.Errorf("%w: %w", errMoved, err)
	}
	if errors.Is(err, errRejected) {
		return 0, err
	}
	return outcomeMarked, clusterError(err)
}

// checkAbsent returns errMoved if the cluster has an object of the name. It is called after the row was
// read: that may be the row of an object which was created since the cluster was read. A cluster that does not serve the
// kind shows nothing about its objects.
func (a *handlers) checkAbsent(ctx context.Context, t target) error {
	_, err := a.cluster.Get(ctx, t.kind, t.namespace, t.name)
	switch {
	case err == nil:
		return errMoved
	case listing.NoObject(err):
		return nil
	case apierrors.IsNotFound(err):
		return fmt.Errorf("%w: %s", errNotServed, err.Error())
	default:
		return clusterError(err)
	}
}

// closeReleased closes the row of an object that only foreign finalizers hold. The row may
// still be live because the object was evicted.
func (a *handlers) closeReleased(ctx context.Context, t target, object *unstructured.Unstructured, options *metav1.DeleteOptions) error {
	if !decide.HeldByOthers(object) {
		return nil
	}
	// The preconditions were checked against the object; its row may have another version.
	return a.closeRow(ctx, t, object, &metav1.DeleteOptions{DryRun: options.DryRun})
}

// closeRow closes the row of one object, found by uid: the row of another object that took
// the name meanwhile stays.
func (a *handlers) closeRow(ctx context.Context, t target, object *unstructured.Unstructured, options *metav1.DeleteOptions) error {
	if dryRun(options) {
		return nil
	}
	uid := string(object.GetUID())
	if uid == "" { // an empty selector would choose every object of the namespace
		return fmt.Errorf("close %s %s/%s: the stored object has no uid", t.kind.Name, t.namespace, t.name)
	}
	selector := &metav1.ListOptions{FieldSelector: "metadata.uid=" + uid}
	err := a.store.DeleteCollection(ctx, t.typeMeta(), t.namespace, &metav1.DeleteOptions{Preconditions: options.Preconditions}, selector)
	if err != nil {
		return fmt.Errorf("close %s %s/%s: %w", t.kind.Name, t.namespace, t.name, err)
	}
	return nil
}

func checkPreconditions(t target, object *unstructured.Unstructured, p *metav1.Preconditions) error {
	if p == nil {
		return nil
	}
	conflict := func(field, want, have string) error {
		return apierrors.NewConflict(resource(t.kind), t.name, fmt.Errorf("precondition failed: %s is %s, want %s", field, have, want))
	}
	if p.UID != nil && *p.UID != object.GetUID() {
		return conflict("uid", string(*p.UID), string(object.GetUID()))
	}
	if p.ResourceVersion != nil && *p.ResourceVersion != object.GetResourceVersion() {
		return conflict("resourceVersion", *p.ResourceVersion, object.GetResourceVersion())
	}
	return nil
}

func dryRun(o *metav1.DeleteOptions) bool { return len(o.DryRun) > 0 }

// deleteOptions reads the body and the parameters of a deletion. It rejects unsupported options.
func deleteOptions(r *http.Request, t target) (*metav1.DeleteOptions, error) {
	var o metav1.DeleteOptions
	if err := decodeBody(r, &o); err != nil {
		return nil, err
	}
	if o.Kind != "" && o.Kind != "DeleteOptions" {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the body is a %q, want DeleteOptions", o.Kind))
	}
	if value, given := t.parameters[paramDryRun]; given {
		o.DryRun = value
	}
	background := o.PropagationPolicy == nil || *o.PropagationPolicy == metav1.DeletePropagationBackground
	switch {
	case len(o.DryRun) > 0 && !slices.Equal(o.DryRun, []string{metav1.DryRunAll}):
		return nil, apierrors.NewBadRequest(fmt.Sprintf("dryRun must be %q or absent, is %q", metav1.DryRunAll, o.DryRun))
	case !background || o.OrphanDependents != nil: //nolint:staticcheck // deprecated, and rejected for that
		return nil, apierrors.NewBadRequest("propagationPolicy must be Background or absent: the ingester deletes in no other way")
	case o.GracePeriodSeconds != nil && *o.GracePeriodSeconds != 0:
		return nil, apierrors.NewBadRequest("gracePeriodSeconds must be 0 or absent: these objects have no grace period")
	case o.IgnoreStoreReadErrorWithClusterBreakingPotential != nil:
		return nil, apierrors.NewBadRequest("ignoreStoreReadErrorWithClusterBreakingPotential is not supported")
	}
	return &o, nil
}

// rejectDelete rejects the deletion of a kind in all namespaces.
func (a *handlers) rejectDelete(_ http.ResponseWriter, _ *http.Request, t target) error {
	return apierrors.NewBadRequest(fmt.Sprintf("delete in one namespace at a time: %s/namespaces/{namespace}/%s", root, t.kind.Plural))
}

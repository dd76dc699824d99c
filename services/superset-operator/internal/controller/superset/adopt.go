package superset

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/kube/steps"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/names"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/statusevents"
)

// formerTimeout is how long a new Superset waits for the garbage collector.
const formerTimeout = time.Minute

// adopt adopts orphans: objects without an owner that have the name and all labels of a desired object. A Superset of
// the same name that was deleted with orphaned children leaves them behind, and so does a restore from a backup.
// Applying over any other object of the same name returns an error.
//
// A new Superset waits until the garbage collector deletes those of a Superset of the same name that was deleted with its
// children. After formerTimeout, and if a finalizer keeps one, it is reported like a foreign object.
func (r *Reconciler) adopt(ctx context.Context, s *reconcileState) (steps.Result, error) {
	if len(s.snapshot.Former) > 0 && r.Clock.Now().Before(s.sup.CreationTimestamp.Add(formerTimeout)) {
		return steps.Result{Stop: true, Requeue: steps.RequeueStale}, nil
	}
	if len(s.snapshot.Orphans) == 0 {
		return steps.Result{}, nil
	}
	desired, adopted := s.desiredNames(), false
	for _, obj := range s.snapshot.Orphans {
		if !desired[nameOf(obj)] {
			continue
		}
		if err := r.adoptObject(ctx, s.sup, obj); err != nil {
			return steps.Result{}, err
		}
		r.recordAdopted(s.sup, obj)
		adopted = true
	}
	if adopted {
		return steps.Result{Stop: true, Requeue: steps.RequeueStale}, nil // owned once the cache shows it
	}
	return steps.Result{}, nil
}

func (r *Reconciler) recordAdopted(sup *v1alpha1.Superset, obj client.Object) {
	r.Recorder.Eventf(sup, obj, corev1.EventTypeNormal, statusevents.EventAdopted, "Adopt",
		"Adopted %s: it had no owner, and the name and the labels of an object of this Superset.", nameOf(obj))
}

// adoptObject makes the Superset the controller of an object, at exactly the resourceVersion that was read.
func (r *Reconciler) adoptObject(ctx context.Context, sup *v1alpha1.Superset, obj client.Object) error {
	text, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": obj.GetUID(), "resourceVersion": obj.GetResourceVersion(),
		"ownerReferences": []metav1.OwnerReference{*metav1.NewControllerRef(sup, v1alpha1.GroupVersion.WithKind(v1alpha1.Kind))},
	}})
	if err != nil {
		return fmt.Errorf("encode owner of %s: %w", nameOf(obj), err)
	}
	objCopy, ok := obj.DeepCopyObject().(client.Object)
	if !ok {
		return fmt.Errorf("copy %s: %T is not an object", nameOf(obj), obj)
	}
	err = r.Client.Patch(ctx, objCopy, client.RawPatch(types.MergePatchType, text), client.FieldOwner(names.FieldManager))
	switch {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return errStale
	case err != nil:
		return fmt.Errorf("adopt %s: %w", nameOf(obj), err)
	}
	return nil
}

// desiredNames returns the kinds and names of the desired objects, except those that are listed by label.
func (s *reconcileState) desiredNames() map[string]bool {
	out := map[string]bool{}
	add := func(obj client.Object, exists bool) {
		if exists {
			out[nameOf(obj)] = true
		}
	}
	add(s.desired.ServiceAccount, s.desired.ServiceAccount != nil)
	for i := range s.desired.Components {
		c := &s.desired.Components[i]
		add(c.Deployment, true)
		add(c.ConfigMap, c.ConfigMap != nil)
		add(c.Service, c.Service != nil)
		add(c.HPA, c.HPA != nil)
		add(c.PDB, c.PDB != nil)
	}
	for i := range s.desired.Tasks {
		t := &s.desired.Tasks[i]
		add(&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: t.Name}}, true)
		add(t.ConfigMap, t.ConfigMap != nil)
	}
	if page := s.desired.Page; page != nil {
		add(page.Deployment, true)
		add(page.ConfigMap, page.ConfigMap != nil)
	}
	return out
}

// nameOf returns the kind and name of an object, for messages and as a key.
func nameOf(obj client.Object) string {
	kind := obj.GetObjectKind().GroupVersionKind().Kind
	if kind == "" { // typed clients do not set it
		kind = reflect.TypeOf(obj).Elem().Name()
	}
	return kind + " " + obj.GetName()
}

package instance

import (
	"context"
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/kube/apply"
	"github.com/flotilla-dev/flotilla/libs/kube/steps"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/adopt"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/status"
)

// workloadSpec is a workload to apply.
type workloadSpec struct {
	desired, live client.Object // live is nil if it does not exist
	config        *corev1.ConfigMap
	// matchesSpec is true when the live workload matches the user's part of the spec.
	matchesSpec bool
	// formerHash is the hash that an earlier release recorded for desired, if it differs.
	formerHash string
	// options of the apply.
	options []apply.Option
}

// workload applies a workload after its configuration. An adopted workload of an earlier operator
// and its configuration stay unchanged until the desired state changes.
func (r *Reconciler) workload(ctx context.Context, s *reconcileState, w workloadSpec) error {
	action := adopt.Apply
	if w.live != nil {
		action = adopt.Decide(w.desired, w.live, w.matchesSpec, w.formerHash)
	}
	if action != adopt.Apply {
		if err := r.restoreConfig(ctx, s, w.config); err != nil || action == adopt.Skip {
			return err
		}
		return r.annotateAdopted(ctx, w.desired, w.live)
	}
	if w.config != nil {
		if err := r.ensure(ctx, s, w.config, &corev1.ConfigMap{}); err != nil {
			return err
		}
	}
	_, err := r.applier.Object(ctx, s.instance, w.desired, w.live, w.options...)
	return err
}

// restoreConfig creates a deleted configuration of an adopted workload, whose pods could not start again without it.
func (r *Reconciler) restoreConfig(ctx context.Context, s *reconcileState, config *corev1.ConfigMap) error {
	if config == nil {
		return nil
	}
	err := r.Client.Get(ctx, client.ObjectKeyFromObject(config), &corev1.ConfigMap{})
	switch {
	case err == nil:
		return nil
	case !apierrors.IsNotFound(err):
		return fmt.Errorf("get configmap %q: %w", config.Name, err)
	}
	_, err = r.applier.Object(ctx, s.instance, config, nil, apply.WithCreateOnly())
	return err
}

// annotateAdopted records on a workload of an earlier operator that it is adopted. It does not change the pods.
func (r *Reconciler) annotateAdopted(ctx context.Context, desired, live client.Object) error {
	after, ok := live.DeepCopyObject().(client.Object)
	if !ok {
		return fmt.Errorf("copy %T %q: not an object", live, live.GetName())
	}
	adopt.Note(desired, after)
	err := r.Client.Patch(ctx, after, client.MergeFromWithOptions(live, client.MergeFromWithOptimisticLock{}), client.FieldOwner(names.FieldManager))
	if err != nil {
		return fmt.Errorf("adopt %T %q: %w", live, live.GetName(), err)
	}
	return nil
}

// stopFailed scales the workloads of failed components to zero when the instance stops. Their last rendering stays: only a
// spec without failure replaces it.
func (r *Reconciler) stopFailed(ctx context.Context, s *reconcileState) (steps.Result, error) {
	if !s.shouldStop() {
		return steps.Result{}, nil
	}
	for _, c := range []*status.Component{&s.metadata, &s.gateway} {
		if d := c.Deployment; c.Failure != nil && d != nil && ptr.Deref(d.Spec.Replicas, 1) > 0 {
			if err := r.scaleToZero(ctx, d.DeepCopy()); err != nil {
				return steps.Result{}, err
			}
		}
	}
	if d := s.database; s.metadata.Failure != nil && d != nil && s.databaseReplicas == 0 && ptr.Deref(d.Spec.Replicas, 1) > 0 {
		return steps.Result{}, r.scaleToZero(ctx, d.DeepCopy())
	}
	return steps.Result{}, nil
}

// scaleToZero also ends the recorded adoption, since it skips the workload while its desired state is the recorded one: the next
// start applies it.
func (r *Reconciler) scaleToZero(ctx context.Context, live client.Object) error {
	metadata := map[string]any{"resourceVersion": live.GetResourceVersion()}
	if _, adopted := live.GetAnnotations()[names.AnnotationAdopted]; adopted {
		metadata["annotations"] = map[string]string{names.AnnotationAdopted: "stopped"}
	}
	patch, err := json.Marshal(map[string]any{"metadata": metadata, "spec": map[string]any{"replicas": 0}})
	if err != nil {
		return fmt.Errorf("encode patch of %T %q: %w", live, live.GetName(), err)
	}
	if err := r.Client.Patch(ctx, live, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(names.FieldManager)); err != nil {
		return fmt.Errorf("patch %T %q: %w", live, live.GetName(), err)
	}
	return nil
}

// matchesSpec reports whether a live Deployment matches the user's part of the spec.
func matchesSpec(user *corev1.PodTemplateSpec, desired, live *appsv1.Deployment) bool {
	return live == nil || adopt.MatchesSpec(user, desired, live)
}

// matchesDatabase reports whether the live metadata service uses the database of the spec.
func (r *Reconciler) matchesDatabase(ctx context.Context, s *reconcileState) (bool, error) {
	if s.metadata.Deployment == nil {
		return true, nil
	}
	config := &corev1.ConfigMap{}
	if _, err := r.get(ctx, s, names.MetadataConfig(s.instance.Name), config); err != nil {
		return false, err
	}
	return adopt.MatchesDatabase(s.instance, config.Data["config.yaml"], s.metadata.Deployment), nil
}

// present returns an untyped nil for a typed nil.
func present[T any, P interface {
	*T
	client.Object
}](o P) client.Object {
	if o == nil {
		return nil
	}
	return o
}

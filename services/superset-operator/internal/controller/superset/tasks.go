package superset

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/flotilla-dev/flotilla/libs/kube/apply"
	"github.com/flotilla-dev/flotilla/libs/kube/steps"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/desired"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/lifecycle"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/names"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/observe"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/render"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/snapshot"
)

// runJobs creates and deletes Jobs as decided.
func (r *Reconciler) runJobs(ctx context.Context, s *reconcileState) (steps.Result, error) {
	if len(s.decision.Actions) == 0 {
		return steps.Result{}, nil
	}
	if err := r.checkFresh(ctx, s); err != nil {
		return steps.Result{}, err
	}
	for _, action := range s.decision.Actions {
		if action.Verb == lifecycle.Delete {
			if err := r.deleteJob(ctx, s, action); err != nil {
				return steps.Result{}, err
			}
			continue
		}
		for i := range s.desired.Tasks {
			t := &s.desired.Tasks[i]
			if t.Slug != action.Task {
				continue
			}
			if err := r.checkMayStart(ctx, s, t, action); err != nil {
				return steps.Result{}, err
			}
			if err := r.startTask(ctx, s, t, action.Attempt); err != nil {
				return steps.Result{}, err
			}
		}
	}
	return steps.Result{}, nil
}

// checkFresh returns errStale unless the decision was made from the latest data: a Job that is created from a stale
// cache could run a migration twice. A status write in this reconcile proves this; otherwise the relevant fields are
// read from the API server.
func (r *Reconciler) checkFresh(ctx context.Context, s *reconcileState) error {
	if s.persisted {
		return nil
	}
	sup := s.sup
	now := &v1alpha1.Superset{}
	if err := r.APIReader.Get(ctx, client.ObjectKeyFromObject(sup), now); err != nil {
		return fmt.Errorf("get superset %q: %w", sup.Name, err)
	}
	fresh := now.UID == sup.UID && now.Generation == sup.Generation &&
		equality.Semantic.DeepEqual(now.Status.Lifecycle, sup.Status.Lifecycle)
	if !fresh {
		return errStale
	}
	return nil
}

// checkMayStart returns an error if a pod of another Job of a task may still run, or, when the task requires a drain, a
// component. It reads from the API server, since the cache may not show what was created a moment ago: for a first attempt of a
// first installation, which creates nothing again, the decision from the cache is enough.
func (r *Reconciler) checkMayStart(ctx context.Context, s *reconcileState, t *desired.Task, action lifecycle.Action) error {
	if s.decision.Initial && action.Attempt == 1 && !action.Repeated {
		return nil
	}
	var pods corev1.PodList
	err := r.APIReader.List(ctx, &pods, client.InNamespace(s.sup.Namespace), client.MatchingLabels(names.Shared(s.sup.Name)))
	if err != nil {
		return fmt.Errorf("list pods before task %s: %w", t.Slug, err)
	}
	// Before the first deployment no component exists.
	drained := t.RequiresDrain && !s.decision.Initial
	for i := range pods.Items {
		pod := &pods.Items[i]
		if observe.IsFormer(pod, s.snapshot.Jobs) || drained && observe.MustDrain(pod) && !snapshot.Ended(pod) {
			return errStale
		}
	}
	if !drained {
		return nil
	}
	return r.checkDrained(ctx, s, t)
}

// checkDrained returns an error if a Deployment may still have pods.
func (r *Reconciler) checkDrained(ctx context.Context, s *reconcileState, t *desired.Task) error {
	var deployments appsv1.DeploymentList
	// Deployments of the legacy operator have no parent label.
	err := r.APIReader.List(ctx, &deployments, client.InNamespace(s.sup.Namespace), client.MatchingLabels{
		v1alpha1.LabelName: v1alpha1.NameValue, v1alpha1.LabelInstance: s.sup.Name,
	})
	if err != nil {
		return fmt.Errorf("list components before task %s: %w", t.Slug, err)
	}
	for i := range deployments.Items {
		d := &deployments.Items[i]
		switch {
		case !observe.MustDrain(d), snapshot.Idle(d):
		case metav1.IsControlledBy(d, s.sup), observe.FormerlyOwned(d, s.sup):
			return errStale
		default:
			return fmt.Errorf("start task %s: deployment %q has the labels of this Superset: %w: delete it or change its label %s",
				t.Slug, d.Name, apply.ErrNotOwned, v1alpha1.LabelInstance)
		}
	}
	return nil
}

// startTask creates the Job of an attempt. It succeeds if the Superset already owns a Job of that name: the cache does
// not show that Job yet.
func (r *Reconciler) startTask(ctx context.Context, s *reconcileState, t *desired.Task, attempt int32) error {
	if t.ConfigMap != nil {
		if _, err := r.applier.Object(ctx, s.sup, t.ConfigMap, s.snapshot.ConfigMaps[t.Slug]); err != nil {
			return err
		}
	}
	job, err := render.Job(&t.Task, t.Checksum, attempt)
	if err != nil {
		return err
	}
	if err := controllerutil.SetControllerReference(s.sup, job, r.Client.Scheme()); err != nil {
		return fmt.Errorf("set owner of job %q: %w", job.Name, err)
	}
	err = r.Client.Create(ctx, job, client.FieldOwner(names.FieldManager))
	if !apierrors.IsAlreadyExists(err) {
		if err != nil {
			return fmt.Errorf("create job %q: %w", job.Name, err)
		}
		return nil
	}
	existing := &batchv1.Job{}
	if err := r.APIReader.Get(ctx, client.ObjectKeyFromObject(job), existing); err != nil {
		return client.IgnoreNotFound(err)
	}
	if !metav1.IsControlledBy(existing, s.sup) {
		return fmt.Errorf("create job %q: %w", job.Name, apply.ErrNotOwned)
	}
	return nil
}

// deleteJob deletes a Job. One that is not complete is deleted in the foreground: it stays visible until its last pod
// has terminated, so that no second one starts earlier. The pods of a complete Job have terminated.
func (r *Reconciler) deleteJob(ctx context.Context, s *reconcileState, action lifecycle.Action) error {
	job := s.snapshot.Jobs[action.Task]
	if job == nil || job.UID != action.UID {
		return nil
	}
	propagation := metav1.DeletePropagationForeground
	if observe.Complete(job) {
		propagation = metav1.DeletePropagationBackground
	}
	return r.applier.Delete(ctx, job, apply.WithPropagation(propagation))
}

// pruneTaskConfig deletes the ConfigMaps of tasks that are not enabled.
func (r *Reconciler) pruneTaskConfig(ctx context.Context, s *reconcileState) (steps.Result, error) {
	for _, kind := range resolve.TaskKinds() {
		config := s.snapshot.ConfigMaps[kind.Slug]
		enabled := false
		for i := range s.desired.Tasks {
			enabled = enabled || s.desired.Tasks[i].Slug == kind.Slug
		}
		if config == nil || enabled {
			continue
		}
		if err := r.applier.Delete(ctx, config); err != nil {
			return steps.Result{}, err
		}
	}
	return steps.Result{}, nil
}

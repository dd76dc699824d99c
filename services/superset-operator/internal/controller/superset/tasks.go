package superset

import (
	"context"
	"errors"
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
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/desired"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/lifecycle"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/naming"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/observe"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/render"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/snapshot"
)

// actOnJobs creates and deletes Jobs as decided.
func (r *Reconciler) actOnJobs(ctx context.Context, p *pass) error {
	if len(p.decision.Actions) == 0 {
		return nil
	}
	if err := r.current(ctx, p); err != nil {
		return err
	}
	for _, action := range p.decision.Actions {
		if action.Verb == lifecycle.Delete {
			if err := r.deleteJob(ctx, p, action); err != nil {
				return err
			}
			continue
		}
		for i := range p.desired.Tasks {
			t := &p.desired.Tasks[i]
			if t.Word != action.Task {
				continue
			}
			if err := r.mustBeDrained(ctx, p, t); err != nil {
				return err
			}
			if err := r.startTask(ctx, p, t, action.Attempt); err != nil {
				return err
			}
		}
	}
	return nil
}

// current returns errStale unless the decision was made from the latest data: a Job that is created from a stale
// cache could run a migration twice. A status write in this reconcile has proven it; otherwise the relevant fields
// are read from the API server.
func (r *Reconciler) current(ctx context.Context, p *pass) error {
	if p.persisted {
		return nil
	}
	sup := p.sup
	now := &v1alpha1.Superset{}
	if err := r.live.Get(ctx, client.ObjectKeyFromObject(sup), now); err != nil {
		return fmt.Errorf("read superset %q: %w", sup.Name, err)
	}
	same := now.UID == sup.UID && now.Generation == sup.Generation &&
		equality.Semantic.DeepEqual(now.Status.Lifecycle, sup.Status.Lifecycle)
	if !same {
		return errStale
	}
	return nil
}

// mustBeDrained returns an error if a component may still run when a task requires a drain. It reads from the API
// server, since the cache may not show a workload that was created a moment ago. Before the first deployment there is
// none.
func (r *Reconciler) mustBeDrained(ctx context.Context, p *pass, t *desired.Task) error {
	if !t.RequiresDrain || p.decision.Initial {
		return nil
	}
	var pods corev1.PodList
	var deployments appsv1.DeploymentList
	if err := errors.Join(
		// Deployments of the legacy operator have no parent label.
		r.live.List(ctx, &deployments, client.InNamespace(p.sup.Namespace), client.MatchingLabels{
			v1alpha1.LabelName: v1alpha1.NameValue, v1alpha1.LabelInstance: p.sup.Name,
		}),
		r.live.List(ctx, &pods, client.InNamespace(p.sup.Namespace), client.MatchingLabels(naming.Shared(p.sup.Name))),
	); err != nil {
		return fmt.Errorf("list components before task %s: %w", t.Word, err)
	}
	for i := range deployments.Items {
		d := &deployments.Items[i]
		switch {
		case !observe.Beside(d), snapshot.Idle(d):
		case metav1.IsControlledBy(d, p.sup), observe.Former(d, p.sup):
			return errStale
		default:
			return fmt.Errorf("start task %s: Deployment %q bears the labels of this Superset: %w; delete it or change its label %s",
				t.Word, d.Name, apply.ErrNotOwned, v1alpha1.LabelInstance)
		}
	}
	for i := range pods.Items {
		if observe.Beside(&pods.Items[i]) {
			return errStale
		}
	}
	return nil
}

// startTask creates the Job of an attempt. An owned Job of that name that exists already is one that the cache does
// not show yet.
func (r *Reconciler) startTask(ctx context.Context, p *pass, t *desired.Task, attempt int32) error {
	if t.ConfigMap != nil {
		if _, err := r.applier.Object(ctx, p.sup, t.ConfigMap, p.snapshot.ConfigMaps[t.Word]); err != nil {
			return err
		}
	}
	job, err := render.Job(&t.Task, t.Checksum, attempt)
	if err != nil {
		return err
	}
	if err := controllerutil.SetControllerReference(p.sup, job, r.client.Scheme()); err != nil {
		return fmt.Errorf("own job %q: %w", job.Name, err)
	}
	err = r.client.Create(ctx, job, client.FieldOwner(FieldManager))
	if !apierrors.IsAlreadyExists(err) {
		if err != nil {
			return fmt.Errorf("create job %q: %w", job.Name, err)
		}
		return nil
	}
	existing := &batchv1.Job{}
	if err := r.live.Get(ctx, client.ObjectKeyFromObject(job), existing); err != nil {
		return client.IgnoreNotFound(err)
	}
	if !metav1.IsControlledBy(existing, p.sup) {
		return fmt.Errorf("create job %q: %w", job.Name, apply.ErrNotOwned)
	}
	return nil
}

// deleteJob deletes a Job in the foreground: it stays visible until its last pod has terminated, so that no second one
// starts before.
func (r *Reconciler) deleteJob(ctx context.Context, p *pass, action lifecycle.Action) error {
	job := p.snapshot.Jobs[action.Task]
	if job == nil || job.UID != action.UID {
		return nil
	}
	return r.applier.Delete(ctx, job, apply.WithPropagation(metav1.DeletePropagationForeground))
}

// pruneTaskConfig deletes the ConfigMaps of tasks that are not enabled.
func (r *Reconciler) pruneTaskConfig(ctx context.Context, p *pass) error {
	for _, kind := range resolve.TaskKinds() {
		config := p.snapshot.ConfigMaps[kind.Word]
		wanted := false
		for i := range p.desired.Tasks {
			wanted = wanted || p.desired.Tasks[i].Word == kind.Word
		}
		if config == nil || wanted {
			continue
		}
		if err := r.applier.Delete(ctx, config); err != nil {
			return err
		}
	}
	return nil
}

func (r *Reconciler) emit(sup *v1alpha1.Superset, list []lifecycle.Event) {
	for _, e := range list {
		kind := corev1.EventTypeNormal
		if e.Warning {
			kind = corev1.EventTypeWarning
		}
		r.recorder.Eventf(sup, nil, kind, e.Reason, "Lifecycle", "%s", e.Message)
	}
}

package superset

import (
	"context"
	"fmt"
	"time"

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
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/observe"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/render"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
)

// lifecycle decides about the tasks, persists the decision, and acts on it, in this order.
func (r *Reconciler) lifecycle(ctx context.Context, p *pass) (steps.Result, error) {
	decision := lifecycle.Decide(r.lifecycleInput(p))
	p.decision = &decision
	moved := !equality.Semantic.DeepEqual(decision.Status, p.sup.Status.Lifecycle) ||
		decision.LastImage != p.sup.Status.LastLifecycleImage
	if !decision.Done() || moved {
		changed, err := r.persist(ctx, p)
		if err != nil {
			return steps.Result{}, err
		}
		if changed {
			r.emit(p.sup, decision.Events)
		}
		moved = changed
	}
	if err := r.act(ctx, p, moved); err != nil {
		return steps.Result{}, err
	}
	if err := r.pruneTaskConfig(ctx, p); err != nil {
		return steps.Result{}, err
	}
	result := steps.Result{Stop: !decision.Done()}
	if result.Stop && p.intent.Stopped {
		if err := r.scaleDown(ctx, p); err != nil {
			return result, err
		}
	}
	if !decision.Next.IsZero() {
		result.Requeue = max(decision.Next.Sub(r.clock.Now()), time.Millisecond)
	}
	return result, nil
}

func (r *Reconciler) lifecycleInput(p *pass) lifecycle.Input {
	in := lifecycle.Input{
		Jobs:       observe.Jobs(p.snapshot),
		Status:     p.sup.Status.Lifecycle,
		LastImage:  p.sup.Status.LastLifecycleImage,
		Image:      p.desired.TaskImage,
		Components: len(p.desired.Components) > 0,
		Disabled:   p.desired.Disabled,
		Stopped:    p.intent.Stopped,
		Now:        r.clock.Now(),
	}
	for i := range p.desired.Tasks {
		t := &p.desired.Tasks[i]
		in.Steps = append(in.Steps, lifecycle.Step{
			Kind: t.Kind, JobName: t.Name, Checksum: t.Checksum, Inputs: t.Inputs, PodHash: t.PodHash,
			Image: t.Image, MaxRetries: t.MaxRetries, RequiresDrain: t.RequiresDrain, Retention: t.Retention,
		})
	}
	return in
}

// act does what was decided. A status write just before has shown that the
// decision was made from current data; without one that has to be checked, since
// a Job made from old data could run a migration twice.
func (r *Reconciler) act(ctx context.Context, p *pass, persisted bool) error {
	if len(p.decision.Actions) == 0 {
		return nil
	}
	if !persisted {
		if err := r.confirm(ctx, p.sup); err != nil {
			return err
		}
	}
	for _, action := range p.decision.Actions {
		if action.Verb == lifecycle.Delete {
			if err := r.deleteJob(ctx, p, action); err != nil {
				return err
			}
			continue
		}
		for i := range p.desired.Tasks {
			if t := &p.desired.Tasks[i]; t.Word == action.Task {
				if err := r.startTask(ctx, p, t, action.Attempt); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// confirm reads the Superset from the API server and compares what decisions about tasks rest on.
func (r *Reconciler) confirm(ctx context.Context, sup *v1alpha1.Superset) error {
	current := &v1alpha1.Superset{}
	if err := r.live.Get(ctx, client.ObjectKeyFromObject(sup), current); err != nil {
		return fmt.Errorf("read superset %q: %w", sup.Name, err)
	}
	same := current.UID == sup.UID && current.Generation == sup.Generation &&
		equality.Semantic.DeepEqual(current.Status.Lifecycle, sup.Status.Lifecycle)
	if !same {
		return errStale
	}
	return nil
}

// startTask makes the Job of an attempt. A Job of that name that is there
// already, and ours, is one that the cache does not show yet.
func (r *Reconciler) startTask(ctx context.Context, p *pass, t *desired.Task, attempt int32) error {
	_, err := r.applier.Object(ctx, p.sup, t.ConfigMap, p.snapshot.ConfigMaps[t.Word])
	if err != nil {
		return err
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

// deleteJob removes one Job and waits for nothing: the Job stays visible until
// its last pod is gone, so that no second one starts beside it.
func (r *Reconciler) deleteJob(ctx context.Context, p *pass, action lifecycle.Action) error {
	job := p.snapshot.Jobs[action.Task]
	if job == nil || job.UID != action.UID {
		return nil
	}
	return r.applier.Delete(ctx, job, apply.WithPropagation(metav1.DeletePropagationForeground))
}

// pruneTaskConfig removes the ConfigMaps of tasks that are not enabled.
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

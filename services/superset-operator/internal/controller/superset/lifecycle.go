package superset

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/kube/steps"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/component"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/lifecycle"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/naming"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/observe"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/snapshot"
)

// lifecycle decides about the tasks, persists the decision, and then acts on it.
func (r *Reconciler) lifecycle(ctx context.Context, p *pass) (steps.Result, error) {
	decision := lifecycle.Decide(r.lifecycleInput(p))
	p.decision = &decision
	moved := !equality.Semantic.DeepEqual(decision.Status, p.sup.Status.Lifecycle) ||
		decision.LastImage != p.sup.Status.LastLifecycleImage
	if decision.Mode != lifecycle.Apply || moved {
		changed, err := r.persist(ctx, p)
		if err != nil {
			return steps.Result{}, err
		}
		if changed {
			r.emit(p.sup, decision.Events)
		}
		p.persisted = changed
	}
	if err := r.act(ctx, p); err != nil {
		return steps.Result{}, err
	}
	// Before the first completion there is nothing to pin, and components must not be created in part.
	nothing := decision.Mode == lifecycle.Hold && decision.Initial
	result := steps.Result{Stop: decision.Mode == lifecycle.Wait || nothing}
	if decision.Mode == lifecycle.Hold {
		p.hold()
	}
	if !decision.Next.IsZero() {
		result.Requeue = max(decision.Next.Sub(r.clock.Now()), time.Millisecond)
	}
	return result, nil
}

// act executes the decision.
func (r *Reconciler) act(ctx context.Context, p *pass) error {
	// Once all tasks are complete only finished Jobs remain to be deleted, after the components are applied: see
	// retention.
	if p.decision.Mode != lifecycle.Apply {
		if err := r.actOnJobs(ctx, p); err != nil {
			return err
		}
	}
	if err := r.pruneTaskConfig(ctx, p); err != nil {
		return err
	}
	if p.decision.ClearApprovals {
		if err := r.clearApprovals(ctx, p); err != nil {
			return err
		}
	}
	if p.decision.Page {
		if err := p.tolerate("maintenance page", r.applyPage(ctx, p)); err != nil {
			return err
		}
	}
	if p.decision.Mode != lifecycle.Wait {
		return nil
	}
	if err := r.routeTraffic(ctx, p); err != nil {
		return err
	}
	_, err := r.removePage(ctx, p)
	if err := p.tolerate("maintenance page", err); err != nil {
		return err
	}
	if p.decision.Drain {
		return r.drain(ctx, p)
	}
	if p.intent.Stopped {
		return r.scaleDown(ctx, p)
	}
	return nil
}

// retention deletes finished Jobs by policy, after the components were applied: they need not wait for it.
func (r *Reconciler) retention(ctx context.Context, p *pass) (steps.Result, error) {
	if p.decision.Mode != lifecycle.Apply {
		return steps.Result{}, nil
	}
	return steps.Result{}, r.actOnJobs(ctx, p)
}

func (r *Reconciler) lifecycleInput(p *pass) lifecycle.Input {
	in := lifecycle.Input{
		Name:       p.sup.Name,
		Jobs:       observe.Jobs(p.snapshot),
		Status:     p.sup.Status.Lifecycle,
		LastImage:  p.sup.Status.LastLifecycleImage,
		Image:      p.desired.TaskImage,
		Components: len(p.desired.Components) > 0,
		Disabled:   p.desired.Disabled,
		Stopped:    p.intent.Stopped,
		Gate:       gate(p.sup),
		Schedule:   p.schedule,
		Workloads:  workloads(p),
		Page:       pageState(p),
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

func gate(sup *v1alpha1.Superset) lifecycle.Gate {
	lc := sup.Spec.Lifecycle
	return lifecycle.Gate{
		Supervised:        lc != nil && lc.UpgradeMode != nil && *lc.UpgradeMode == v1alpha1.UpgradeSupervised,
		Approval:          sup.Annotations[v1alpha1.AnnotationApproveUpgrade],
		DowngradeApproval: sup.Annotations[v1alpha1.AnnotationApproveDowngrade],
	}
}

// workloads summarizes the existing workloads of all components, enabled or not.
func workloads(p *pass) lifecycle.Workloads {
	var w lifecycle.Workloads
	for i := range p.desired.Components {
		c := &p.desired.Components[i]
		w.Wanted = w.Wanted || c.Replicas > 0
		w.WebWanted = w.WebWanted || c.Word == component.WebServerName && c.Replicas > 0
	}
	s := p.snapshot
	for _, d := range component.All() {
		w.Exist = w.Exist || toRemove(s, d.Name)
		w.Idle = w.Idle || idle(s, d.Name)
	}
	w.Idle = w.Idle && !w.Exist
	w.Exist = w.Exist || w.Idle
	w.Strangers = s.Strangers
	w.Pods = pods(s)
	web := s.Deployments[component.WebServerName]
	live := web != nil && web.DeletionTimestamp.IsZero()
	for _, pod := range s.Pods[component.WebServerName] {
		w.WebExists = w.WebExists || pod.DeletionTimestamp.IsZero()
	}
	w.WebExists = w.WebExists || live && snapshot.Asked(web) > 0
	w.WebReady = live && snapshot.Serves(web)
	return w
}

// pods returns the number of pods of all components.
func pods(s *snapshot.Snapshot) int {
	n := 0
	for _, list := range s.Pods {
		n += len(list)
	}
	return n
}

// idle reports whether the component has a Deployment that is scaled to zero and has no pods.
func idle(s *snapshot.Snapshot, word string) bool {
	return s.Deployments[word] != nil && snapshot.Idle(s.Deployments[word])
}

// toRemove reports whether a drain has something of the component to delete. An idle component stays as it is.
func toRemove(s *snapshot.Snapshot, word string) bool {
	if idle(s, word) {
		return false
	}
	service := s.Services[word] != nil && word != component.WebServerName
	return service || s.Deployments[word] != nil || s.Autoscalers[word] != nil || s.Budgets[word] != nil
}

// pageState returns the state of the maintenance page.
func pageState(p *pass) lifecycle.Page {
	lc := p.sup.Spec.Lifecycle
	out := lifecycle.Page{Configured: lc != nil && lc.MaintenancePage != nil && p.sup.Spec.WebServer != nil}
	if d := p.snapshot.Page; d != nil && d.DeletionTimestamp.IsZero() {
		out.Ready = snapshot.Serves(d)
		if !out.Ready {
			out.Problem = cmp.Or(snapshot.Stuck(p.snapshot.PagePods), snapshot.NotCreated(d))
		}
	}
	if service := p.snapshot.Services[component.WebServerName]; service != nil {
		out.Routed = service.Spec.Selector[v1alpha1.LabelComponent] == naming.MaintenancePage
	}
	return out
}

// clearApprovals removes the approval annotations of a settled change, so that they cannot approve another one.
func (r *Reconciler) clearApprovals(ctx context.Context, p *pass) error {
	annotations := map[string]any{}
	for _, name := range []string{v1alpha1.AnnotationApproveUpgrade, v1alpha1.AnnotationApproveDowngrade} {
		if _, set := p.sup.Annotations[name]; set {
			annotations[name] = nil
		}
	}
	if len(annotations) == 0 {
		return nil
	}
	text, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": p.sup.ResourceVersion, "annotations": annotations,
	}})
	if err != nil {
		return fmt.Errorf("encode the approvals to clear: %w", err)
	}
	target := p.sup.DeepCopy()
	err = r.client.Patch(ctx, target, client.RawPatch(types.MergePatchType, text), client.FieldOwner(FieldManager))
	switch {
	case apierrors.IsConflict(err):
		return errStale
	case err != nil:
		return fmt.Errorf("clear the approval: %w", err)
	}
	p.sup = target
	r.written.Record(p.sup)
	return nil
}

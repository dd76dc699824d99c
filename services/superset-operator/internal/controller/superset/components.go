package superset

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/kube/apply"
	"github.com/flotilla-dev/flotilla/libs/kube/steps"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/component"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/desired"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/observe"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/snapshot"
)

// serviceAccount applies the ServiceAccount of all pods, unless the user provides one.
func (r *Reconciler) serviceAccount(ctx context.Context, p *pass) (steps.Result, error) {
	if err := r.pruneAccounts(ctx, p); err != nil {
		return steps.Result{}, err
	}
	want := p.desired.ServiceAccount
	if want == nil {
		return steps.Result{}, nil
	}
	_, err := r.applier.Object(ctx, p.sup, want, p.snapshot.ServiceAccount)
	if errors.Is(err, apply.ErrNotOwned) {
		return steps.Result{}, fmt.Errorf("%w: to use an account of your own set spec.serviceAccount.create to false", err)
	}
	return steps.Result{}, err
}

// pruneAccounts deletes ServiceAccounts with a former name.
func (r *Reconciler) pruneAccounts(ctx context.Context, p *pass) error {
	var list corev1.ServiceAccountList
	err := r.client.List(ctx, &list, client.InNamespace(p.sup.Namespace), client.MatchingFields{observe.ParentIndex: p.sup.Name})
	if err != nil {
		return fmt.Errorf("list service accounts: %w", err)
	}
	for i := range list.Items {
		account := &list.Items[i]
		wanted := p.desired.ServiceAccount != nil && p.desired.ServiceAccount.Name == account.Name
		if wanted || !metav1.IsControlledBy(account, p.sup) {
			continue
		}
		if err := r.applier.Delete(ctx, account); err != nil {
			return err
		}
	}
	return nil
}

// components applies the objects of every enabled component and deletes those of the others. While the web server
// starts, components that do not exist yet are delayed.
func (r *Reconciler) components(ctx context.Context, p *pass) (steps.Result, error) {
	now := r.clock.Now()
	order := p.order(now)
	for _, d := range component.All() {
		c := find(p.desired.Components, d.Name)
		var err error
		if c == nil {
			err = p.tolerate(d.Key, r.removeComponent(ctx, p, d.Name))
		} else if !p.held(c) && !order.Waits(c.Word) {
			err = r.applyComponent(ctx, p, c)
		}
		if err != nil {
			return steps.Result{}, err
		}
	}
	if order.Until.IsZero() {
		return steps.Result{}, nil
	}
	return steps.Result{Requeue: order.Until.Sub(now)}, nil
}

func find(list []desired.Component, name string) *desired.Component {
	for i := range list {
		if list[i].Word == name {
			return &list[i]
		}
	}
	return nil
}

// applyComponent applies the objects of one component. A failure of one object does not stop the others, except that
// the Deployment requires its ConfigMap.
func (r *Reconciler) applyComponent(ctx context.Context, p *pass, c *desired.Component) error {
	for _, part := range []func() error{
		func() error { return r.applyWorkload(ctx, p, c) },
		func() error { return applyOrRemove(ctx, r, p, p.route(c.Service), p.snapshot.Services[c.Word]) },
		func() error { return applyOrRemove(ctx, r, p, c.HPA, p.snapshot.Autoscalers[c.Word]) },
		func() error { return applyOrRemove(ctx, r, p, c.PDB, p.snapshot.Budgets[c.Word]) },
	} {
		if err := p.tolerate(c.Descriptor.Key, part()); err != nil {
			return err
		}
	}
	return nil
}

func (r *Reconciler) applyWorkload(ctx context.Context, p *pass, c *desired.Component) error {
	if err := applyOrRemove(ctx, r, p, c.ConfigMap, p.snapshot.ConfigMaps[c.Word]); err != nil {
		return err
	}
	live := p.snapshot.Deployments[c.Word]
	deployment, err := p.deployment(c)
	if err != nil {
		return err
	}
	if deployment.Spec.Replicas == nil {
		if err := r.releaseReplicas(ctx, live); err != nil {
			return err
		}
	}
	if _, err := r.applier.Object(ctx, p.sup, deployment, live); err != nil {
		return err
	}
	p.generations[c.Word] = deployment.Generation
	return nil
}

// object is a pointer to a Kubernetes object, nil for none.
type object interface {
	client.Object
	comparable
}

// applyOrRemove applies the desired object, or deletes the existing one if there is none.
func applyOrRemove[T object](ctx context.Context, r *Reconciler, p *pass, want, existing T) error {
	var none T
	if want == none {
		return r.applier.Delete(ctx, existing)
	}
	_, err := r.applier.Object(ctx, p.sup, want, existing)
	return err
}

// removeComponent deletes all objects of a component.
func (r *Reconciler) removeComponent(ctx context.Context, p *pass, name string) error {
	if err := r.removeWorkload(ctx, p, name); err != nil {
		return err
	}
	if err := r.applier.Delete(ctx, p.snapshot.Services[name]); err != nil {
		return err
	}
	return r.applier.Delete(ctx, p.snapshot.ConfigMaps[name])
}

// removeWorkload deletes the objects that run, scale or protect the pods of a component.
func (r *Reconciler) removeWorkload(ctx context.Context, p *pass, name string) error {
	for _, obj := range []client.Object{p.snapshot.Autoscalers[name], p.snapshot.Budgets[name], p.snapshot.Deployments[name]} {
		if err := r.applier.Delete(ctx, obj); err != nil {
			return err
		}
	}
	return nil
}

// drain deletes the workloads of all components, including those that the spec no longer enables. The Service of the
// web server stays: it selects the maintenance page.
func (r *Reconciler) drain(ctx context.Context, p *pass) error {
	if err := r.current(ctx, p); err != nil {
		return err
	}
	for _, d := range component.All() {
		if idle(p.snapshot, d.Name) {
			continue
		}
		if err := p.tolerate("drain "+d.Key, r.removeWorkload(ctx, p, d.Name)); err != nil {
			return err
		}
		if d.Name == component.WebServerName {
			continue
		}
		if err := p.tolerate("drain "+d.Key, r.applier.Delete(ctx, p.snapshot.Services[d.Name])); err != nil {
			return err
		}
	}
	return nil
}

// scaleDown scales the components to zero while the tasks are incomplete. Nothing else of their Deployments changes.
func (r *Reconciler) scaleDown(ctx context.Context, p *pass) error {
	for name, d := range p.snapshot.Deployments {
		if snapshot.Asked(d) == 0 || !d.DeletionTimestamp.IsZero() {
			continue
		}
		patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":0}}`))
		if err := r.client.Patch(ctx, d.DeepCopy(), patch, client.FieldOwner(FieldManager)); err != nil {
			return fmt.Errorf("stop %s: %w", name, err)
		}
	}
	return nil
}

package superset

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/kube/apply"
	"github.com/flotilla-dev/flotilla/libs/kube/steps"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/bringup"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/component"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/controller/superset/autoscaling"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/desired"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/lifecycle"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/names"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/snapshot"
)

// serviceAccount applies the ServiceAccount of all pods, unless the user provides one.
func (r *Reconciler) serviceAccount(ctx context.Context, s *reconcileState) (steps.Result, error) {
	want := s.desired.ServiceAccount
	if want == nil {
		return steps.Result{}, nil
	}
	_, err := r.applier.Object(ctx, s.sup, want, s.snapshot.ServiceAccount)
	if errors.Is(err, apply.ErrNotOwned) {
		return steps.Result{}, fmt.Errorf("%w: to use your own service account, set spec.serviceAccount.create to false", err)
	}
	return steps.Result{}, err
}

// pruneAccounts deletes ServiceAccounts with a former name that no observed Deployment names: no pod could be created in
// one that does.
func (r *Reconciler) pruneAccounts(ctx context.Context, s *reconcileState) (steps.Result, error) {
	var list corev1.ServiceAccountList
	if err := r.children(ctx, r.Client, s, &list); err != nil {
		return steps.Result{}, fmt.Errorf("list service accounts: %w", err)
	}
	used := s.usedAccounts()
	for i := range list.Items {
		account := &list.Items[i]
		if used[account.Name] || !metav1.IsControlledBy(account, s.sup) {
			continue
		}
		if err := r.applier.Delete(ctx, account); err != nil {
			return steps.Result{}, err
		}
	}
	return steps.Result{}, nil
}

// usedAccounts returns the names of the ServiceAccount of the spec and of those that observed Deployments name. One that
// the operator created may be the user's since; after a drain no Deployment names it.
func (s *reconcileState) usedAccounts() map[string]bool {
	used := map[string]bool{names.ServiceAccount(s.sup): true}
	for _, d := range s.snapshot.Deployments {
		used[d.Spec.Template.Spec.ServiceAccountName] = true
	}
	if s.snapshot.Page != nil {
		used[s.snapshot.Page.Spec.Template.Spec.ServiceAccountName] = true
	}
	return used
}

// components applies the objects of every enabled component and deletes those of the others. While the web server
// starts, components that do not exist yet are delayed.
func (r *Reconciler) components(ctx context.Context, s *reconcileState) (steps.Result, error) {
	for _, d := range component.All() {
		c, failures := find(s.desired.Components, d.Name), len(s.failures)
		var err error
		if c == nil {
			err = s.tolerate(d.Key, r.removeComponent(ctx, s, d.Name))
		} else if !s.startBlocked(c) && !s.order.IsDelayed(c.Slug) {
			err = r.applyComponent(ctx, s, c)
		}
		if err != nil {
			return steps.Result{}, err
		}
		if d.Name == component.WebServerName && s.creationFailed(d.Name, s.failures[failures:]) {
			s.order = bringup.Order{} // the wait for it would have no end
		}
	}
	if s.order.Until.IsZero() {
		return steps.Result{}, nil
	}
	return steps.Result{Requeue: max(s.order.Until.Sub(r.Clock.Now()), time.Millisecond)}, nil
}

func find(list []desired.Component, name string) *desired.Component {
	for i := range list {
		if list[i].Slug == name {
			return &list[i]
		}
	}
	return nil
}

// applyComponent applies the objects of one component. A failure of one object does not stop the others, except that
// the Deployment requires its ConfigMap.
func (r *Reconciler) applyComponent(ctx context.Context, s *reconcileState, c *desired.Component) error {
	for _, applyPart := range []func() error{
		func() error { return r.applyWorkload(ctx, s, c) },
		func() error { return applyOrRemove(ctx, r, s, s.route(c.Service), s.snapshot.Services[c.Slug]) },
		func() error { return applyOrRemove(ctx, r, s, c.HPA, s.snapshot.Autoscalers[c.Slug]) },
		func() error { return applyOrRemove(ctx, r, s, c.PDB, s.snapshot.Budgets[c.Slug]) },
	} {
		if err := s.tolerate(c.Descriptor.Key, applyPart()); err != nil {
			return err
		}
	}
	return nil
}

func (r *Reconciler) applyWorkload(ctx context.Context, s *reconcileState, c *desired.Component) error {
	if err := applyOrRemove(ctx, r, s, c.ConfigMap, s.snapshot.ConfigMaps[c.Slug]); err != nil {
		return err
	}
	live := s.snapshot.Deployments[c.Slug]
	deployment, err := s.deployment(c)
	if err != nil {
		return err
	}
	if deployment.Spec.Replicas == nil {
		if err := autoscaling.ReleaseReplicas(ctx, r.Client, live); err != nil {
			return err
		}
	}
	if _, err := r.applier.Object(ctx, s.sup, deployment, live); err != nil {
		return err
	}
	s.generations[c.Slug] = deployment.Generation
	return nil
}

// object is a pointer to a Kubernetes object, nil for none.
type object interface {
	client.Object
	comparable
}

// applyOrRemove applies the desired object, or deletes the existing one if there is none.
func applyOrRemove[T object](ctx context.Context, r *Reconciler, s *reconcileState, want, existing T) error {
	var zero T
	if want == zero {
		return r.applier.Delete(ctx, existing)
	}
	_, err := r.applier.Object(ctx, s.sup, want, existing)
	return err
}

// removeComponent deletes all objects of a component.
func (r *Reconciler) removeComponent(ctx context.Context, s *reconcileState, name string) error {
	return join(
		r.removeWorkload(ctx, s, name),
		r.applier.Delete(ctx, s.snapshot.Services[name]),
		r.applier.Delete(ctx, s.snapshot.ConfigMaps[name]),
	)
}

// removeWorkload deletes the objects that run, scale or protect the pods of a component. It attempts all: a refused
// deletion of one must not leave the pods running.
func (r *Reconciler) removeWorkload(ctx context.Context, s *reconcileState, name string) error {
	var failed []error
	for _, obj := range []client.Object{s.snapshot.Autoscalers[name], s.snapshot.Budgets[name], s.snapshot.Deployments[name]} {
		failed = append(failed, r.applier.Delete(ctx, obj))
	}
	return join(failed...)
}

// pinImages pins every existing component to its current image, with the pull policy and the pull secrets of that image,
// while the tasks for another image wait or are blocked. If other tasks are, the metastore fits the desired image, and may
// not fit a former one. It precedes the status write, which ends the adoption of a Deployment that is going to change.
func (*Reconciler) pinImages(_ context.Context, s *reconcileState) (steps.Result, error) {
	for i := range s.desired.Components {
		c := &s.desired.Components[i]
		live := s.snapshot.Deployments[c.Slug]
		if !s.decision.Upgrading || live == nil || s.startsFormer(c) {
			continue
		}
		main := snapshot.Main(&live.Spec.Template.Spec)
		if main == nil || main.Image == c.Image {
			continue
		}
		pod := &c.Deployment.Spec.Template.Spec
		pinned := snapshot.Main(pod)
		pinned.Image = main.Image
		// The pull settings of an adopted Deployment may be those of another operator, and are kept anyway.
		_, unchanged, err := s.adoption(c)
		if err != nil {
			return steps.Result{}, err
		}
		if !unchanged {
			pinned.ImagePullPolicy, pod.ImagePullSecrets = main.ImagePullPolicy, slices.Clone(live.Spec.Template.Spec.ImagePullSecrets)
		}
	}
	return steps.Result{}, nil
}

// delayCreation stops the reconcile if the tasks have never completed, so that no component is created.
func (*Reconciler) delayCreation(_ context.Context, s *reconcileState) (steps.Result, error) {
	return steps.Result{Stop: s.decision.Initial}, nil
}

// creationFailed reports whether the failures of a component include that of the creation of its Deployment.
func (s *reconcileState) creationFailed(slug string, failures []error) bool {
	_, applied := s.generations[slug]
	return !applied && s.snapshot.Deployments[slug] == nil &&
		slices.ContainsFunc(failures, func(err error) bool { return !errors.Is(err, apply.ErrBeingDeleted) })
}

// startBlocked reports whether the component must not be created, or not start on its former image, while the images are
// pinned.
func (s *reconcileState) startBlocked(c *desired.Component) bool {
	return s.decision.Mode == lifecycle.Hold &&
		(s.snapshot.Deployments[c.Slug] == nil || s.decision.Upgrading && s.startsFormer(c))
}

// startsFormer reports whether the component, scaled to zero, would start on an image that the metastore no longer fits.
func (s *reconcileState) startsFormer(c *desired.Component) bool {
	live := s.snapshot.Deployments[c.Slug]
	return c.Descriptor.Python && live != nil && snapshot.DesiredReplicas(live) == 0 && s.decision.IsFormer(snapshot.MainImage(&live.Spec.Template.Spec), c.Image)
}

// deployment returns the Deployment to apply for a component. An adopted Deployment keeps its spec, except the number
// of replicas, while the fingerprint of the desired one is the same as at the adoption. replicas is nil if the
// autoscaler owns it.
func (s *reconcileState) deployment(c *desired.Component) (*appsv1.Deployment, error) {
	live, want := s.snapshot.Deployments[c.Slug], c.Deployment
	recorded, unchanged, err := s.adoption(c)
	if err != nil {
		return nil, err
	}
	if live != nil && recorded && unchanged {
		want = c.Deployment.DeepCopy()
		want.Spec = *live.Spec.DeepCopy()
		want.Spec.Replicas = c.Deployment.Spec.Replicas
	}
	return autoscaling.WithoutReplicas(c, want, live)
}

// adoption reports whether the status records an adopted Deployment, and whether the desired one has the same fingerprint as
// at the adoption.
func (s *reconcileState) adoption(c *desired.Component) (recorded, unchanged bool, err error) {
	entry := c.Descriptor.Status(s.sup)
	if entry == nil || entry.AdoptedSpec == "" {
		return false, false, nil
	}
	fingerprint, err := c.Fingerprint()
	return true, fingerprint == entry.AdoptedSpec, err
}

// endsAdoption reports whether this reconcile changes an adopted Deployment.
func (s *reconcileState) endsAdoption() (bool, error) {
	for i := range s.desired.Components {
		if recorded, unchanged, err := s.adoption(&s.desired.Components[i]); err != nil || recorded && !unchanged {
			return true, err
		}
	}
	return false, nil
}

package instance

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/flotilla-dev/flotilla/libs/kube/lastwritten"
	kubeobserve "github.com/flotilla-dev/flotilla/libs/kube/observe"
	"github.com/flotilla-dev/flotilla/libs/kube/steps"
	v1 "github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/admit"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/metrics"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/status"
)

// findEngines lists the engines that refer to the instance.
func (c *Controller) findEngines(ctx context.Context, p *pass) (steps.Result, error) {
	err := c.Client.List(ctx, &p.engines, client.InNamespace(p.instance.Namespace),
		client.MatchingFields{c.EngineIndex: p.instance.Name})
	if err != nil {
		return steps.Result{}, fmt.Errorf("list engines of instance %q: %w", p.instance.Name, err)
	}
	return steps.Result{}, nil
}

// clean lets go of a deleted instance once no engine refers to it. What it owns goes with
// it by owner reference; the volume of its own database and the credentials stay.
//
// Until then the instance is served as ever, since its engines still run on it. Only when
// its deletion was asked to take the children first, as kubectl does with
// --cascade=foreground, is nothing made anew that Kubernetes is deleting.
func (c *Controller) clean(ctx context.Context, p *pass) (steps.Result, error) {
	i := p.instance
	if i.DeletionTimestamp == nil {
		return steps.Result{}, nil
	}
	if !controllerutil.ContainsFinalizer(i, v1.InstanceFinalizer) {
		p.gone = true
		return steps.Result{Stop: true}, nil
	}
	if n := len(p.engines.Items); n > 0 {
		p.trouble = &status.Trouble{Reason: v1.ReasonDeletionBlocked, Message: blocked(p.engines.Items)}
		if !slices.Contains(i.Finalizers, metav1.FinalizerDeleteDependents) {
			return steps.Result{}, nil
		}
		_, err := c.observe(ctx, p)
		return steps.Result{Stop: true}, err
	}
	if err := c.keepCredentials(ctx, p); err != nil {
		return steps.Result{}, err
	}
	p.gone = true
	err := c.patch(ctx, i, func(i *v1.FireboltInstance) { controllerutil.RemoveFinalizer(i, v1.InstanceFinalizer) })
	if client.IgnoreNotFound(err) != nil {
		return steps.Result{}, fmt.Errorf("remove finalizer of instance %q: %w", i.Name, err)
	}
	metrics.InstanceGone(client.ObjectKeyFromObject(i))
	c.Reporter.Gone(kubeobserve.Object(i, v1.GroupVersion.WithKind("FireboltInstance")))
	return steps.Result{Stop: true}, nil
}

// blocked names the engines in the way, a few of them.
func blocked(engines []v1.FireboltEngine) string {
	const most = 3
	var list []string
	for i := range engines {
		list = append(list, engines[i].Name)
	}
	slices.Sort(list)
	if len(list) == 1 {
		return fmt.Sprintf("The instance is kept until engine %q, which refers to it, is deleted.", list[0])
	}
	return fmt.Sprintf("The instance is kept until the %d engines that refer to it are deleted, %q among them.", len(list), list[:min(most, len(list))])
}

// checkPause ends the pass of a paused instance; its status stays fresh.
func (*Controller) checkPause(_ context.Context, p *pass) (steps.Result, error) {
	return steps.Result{Stop: status.Intent(p.instance).Paused}, nil
}

// checkSupport refuses what this release cannot do. Nothing is made, and what an earlier
// operator left running is left as it is.
func (*Controller) checkSupport(_ context.Context, p *pass) (steps.Result, error) {
	mistakes := admit.InstanceUnsupported(p.instance)
	if len(mistakes) == 0 {
		return steps.Result{}, nil
	}
	p.judged = true
	if p.trouble == nil {
		p.trouble = &status.Trouble{Reason: v1.ReasonNotSupported, Message: admit.Message(mistakes), Terminal: true}
	}
	return steps.Result{Stop: true}, nil
}

// protect adds the finalizer, never to an object that is being deleted: the API server
// would refuse it for ever.
func (c *Controller) protect(ctx context.Context, p *pass) (steps.Result, error) {
	if p.instance.DeletionTimestamp != nil || controllerutil.ContainsFinalizer(p.instance, v1.InstanceFinalizer) {
		return steps.Result{}, nil
	}
	err := c.patch(ctx, p.instance, func(i *v1.FireboltInstance) { controllerutil.AddFinalizer(i, v1.InstanceFinalizer) })
	if err != nil {
		return steps.Result{}, fmt.Errorf("add finalizer to instance %q: %w", p.instance.Name, err)
	}
	return steps.Result{}, nil
}

// identify gives the instance an id, once and for all: the one that its database was
// written under, when an instance of the name existed before, else a new one.
func (c *Controller) identify(ctx context.Context, p *pass) (steps.Result, error) {
	if p.instance.Spec.ID != "" {
		return steps.Result{}, nil
	}
	id, err := c.formerID(ctx, p)
	if err != nil {
		return steps.Result{}, err
	}
	if id == "" {
		if id, err = c.NewID(); err != nil {
			return steps.Result{}, fmt.Errorf("make an id for instance %q: %w", p.instance.Name, err)
		}
	}
	if err := c.patch(ctx, p.instance, func(i *v1.FireboltInstance) { i.Spec.ID = id }); err != nil {
		return steps.Result{}, fmt.Errorf("give instance %q its id: %w", p.instance.Name, err)
	}
	return steps.Result{}, nil
}

// admit refuses components whose part of the spec is wrong. A refused component stays as
// it is; the other one goes on.
func (*Controller) admit(_ context.Context, p *pass) (steps.Result, error) {
	for _, part := range []struct {
		component *status.Component
		mistakes  field.ErrorList
	}{{&p.metadata, admit.InstanceMetadata(p.instance)}, {&p.gateway, admit.InstanceGateway(p.instance)}} {
		if len(part.mistakes) > 0 {
			p.troubled(part.component, status.Trouble{
				Reason: v1.ReasonTemplateRejected, Message: admit.Message(part.mistakes), Terminal: true,
			}, 0)
		}
	}
	return steps.Result{}, nil
}

func (c *Controller) patch(ctx context.Context, i *v1.FireboltInstance, change func(*v1.FireboltInstance)) error {
	return lastwritten.Edit(ctx, c.Client, i, change, client.FieldOwner(names.FieldManager))
}

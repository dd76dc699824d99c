package instance

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/flotilla-dev/flotilla/libs/kube/apply"
	"github.com/flotilla-dev/flotilla/libs/kube/steps"
	v1 "github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/render"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/status"
)

// observe reads what exists, and how many replicas there should be: a stopped instance
// keeps its metadata service until its last engine has stopped.
func (c *Controller) observe(ctx context.Context, p *pass) (steps.Result, error) {
	metadata, postgres := &appsv1.Deployment{}, &appsv1.StatefulSet{}
	var err error
	if p.metadata, err = c.mine(ctx, p, names.Metadata(p.instance.Name), metadata); err != nil {
		return steps.Result{}, err
	}
	found, err := c.get(ctx, p, names.Postgres(p.instance.Name), postgres)
	if err != nil {
		return steps.Result{}, err
	}
	if found {
		p.postgres = postgres
	}
	if status.Intent(p.instance).Stopped && enginesStopped(p.engines.Items) {
		p.replicas = 0
	}
	p.observed = true
	return steps.Result{}, nil
}

func (c *Controller) mine(ctx context.Context, p *pass, name string, into *appsv1.Deployment) (*appsv1.Deployment, error) {
	found, err := c.get(ctx, p, name, into)
	if err != nil || !found {
		return nil, err
	}
	return into, nil
}

// get reads an object of the instance from the cache; a stranger's of that name is not seen.
func (c *Controller) get(ctx context.Context, p *pass, name string, into client.Object) (bool, error) {
	err := c.Client.Get(ctx, client.ObjectKey{Namespace: p.instance.Namespace, Name: name}, into)
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("get %T %q: %w", into, name, err)
	}
	return metav1.IsControlledBy(into, p.instance), nil
}

func enginesStopped(engines []v1.FireboltEngine) bool {
	for i := range engines {
		if engines[i].Status.Phase != v1.PhaseStopped {
			return false
		}
	}
	return true
}

// checkCredentials makes sure that the Secret with the database's credentials is there.
func (c *Controller) checkCredentials(ctx context.Context, p *pass) (steps.Result, error) {
	name := render.DatabaseOf(p.instance).Secret
	secret := &corev1.Secret{}
	err := c.Live.Get(ctx, client.ObjectKey{Namespace: p.instance.Namespace, Name: name}, secret)
	own := p.instance.Spec.Metadata.Postgres == nil
	switch {
	case apierrors.IsNotFound(err) && own && p.postgres == nil:
		return steps.Result{}, c.createCredentials(ctx, p)
	case apierrors.IsNotFound(err) && own:
		return p.fail(v1.ReasonPostgresCredentialsLost, fmt.Sprintf("Secret %q is gone, but the database that was set up with it exists: restore the Secret.", name))
	case apierrors.IsNotFound(err):
		return p.fail(v1.ReasonPostgresSecretPreflightFailed, fmt.Sprintf("Secret %q (spec.metadata.postgres.credentialsSecretRef) does not exist.", name))
	case err != nil:
		return steps.Result{}, fmt.Errorf("get secret %q: %w", name, err)
	}
	for _, key := range []string{render.SecretUsername, render.SecretPassword} {
		if len(secret.Data[key]) == 0 {
			return p.fail(v1.ReasonPostgresSecretPreflightFailed, fmt.Sprintf("Secret %q has no key %q.", name, key))
		}
	}
	return steps.Result{}, nil
}

// fail records a trouble that is the user's to repair, and ends the pass.
func (p *pass) fail(reason, message string) (steps.Result, error) {
	p.reason, p.trouble = reason, message
	return steps.Result{Stop: true, Requeue: retryTrouble}, nil
}

// createCredentials makes the Secret once. It is created, never applied: whoever comes
// second must not change the password that the data was set up with.
func (c *Controller) createCredentials(ctx context.Context, p *pass) error {
	password, err := c.NewPassword()
	if err != nil {
		return fmt.Errorf("make a password for the database of instance %q: %w", p.instance.Name, err)
	}
	secret := render.PostgresCredentials(p.instance, password)
	if err := controllerutil.SetControllerReference(p.instance, secret, c.Client.Scheme()); err != nil {
		return fmt.Errorf("own secret %q: %w", secret.Name, err)
	}
	if err := c.Client.Create(ctx, secret, client.FieldOwner(names.FieldManager)); err != nil {
		return fmt.Errorf("create secret %q: %w", secret.Name, err)
	}
	return nil
}

// runDatabase runs the operator's own PostgreSQL, unless the spec names another.
func (c *Controller) runDatabase(ctx context.Context, p *pass) (steps.Result, error) {
	if p.instance.Spec.Metadata.Postgres != nil {
		return steps.Result{}, nil
	}
	desired := render.PostgresOf(p.instance, c.Images, p.replicas)
	if err := c.ensure(ctx, p, desired.Service, &corev1.Service{}); err != nil {
		return p.ensureFailed(v1.ReasonPostgresEnsureFailed, err)
	}
	if err := c.ensure(ctx, p, desired.StatefulSet, &appsv1.StatefulSet{}); err != nil {
		return p.ensureFailed(v1.ReasonPostgresEnsureFailed, err)
	}
	return steps.Result{}, nil
}

// runMetadata runs the metadata service.
func (c *Controller) runMetadata(ctx context.Context, p *pass) (steps.Result, error) {
	desired, err := render.MetadataOf(p.instance, c.Images, p.replicas)
	if err != nil {
		return steps.Result{}, err
	}
	for _, part := range []struct{ desired, empty client.Object }{
		{desired.Config, &corev1.ConfigMap{}}, {desired.Service, &corev1.Service{}}, {desired.Deployment, &appsv1.Deployment{}},
	} {
		if err := c.ensure(ctx, p, part.desired, part.empty); err != nil {
			return p.ensureFailed(v1.ReasonEnsureFailed, err)
		}
	}
	p.applied = true
	return steps.Result{}, nil
}

// ensureFailed shows an error of the API server as the component's reason. Staleness and
// a deletion that is under way are no trouble.
func (p *pass) ensureFailed(reason string, err error) (steps.Result, error) {
	if errors.Is(err, apply.ErrBeingDeleted) {
		return steps.Result{Stop: true, Requeue: retryTrouble}, nil
	}
	if !isStale(err) {
		p.reason, p.trouble = reason, err.Error()
	}
	return steps.Result{}, err
}

// ensure applies desired; into receives the existing object.
func (c *Controller) ensure(ctx context.Context, p *pass, desired, into client.Object) error {
	found, err := c.get(ctx, p, desired.GetName(), into)
	if err != nil {
		return err
	}
	if !found {
		into = nil
	}
	_, err = c.applier.Object(ctx, p.instance, desired, into)
	return err
}

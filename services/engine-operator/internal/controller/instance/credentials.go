package instance

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/kube/steps"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/credentials"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/render"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/status"
)

// checkCredentials makes sure that the Secret with the database's credentials is there.
// A password is made only for a database that was never set up.
func (c *Reconciler) checkCredentials(ctx context.Context, p *reconcileState) (steps.Result, error) {
	if p.metadata.Failure != nil {
		return steps.Result{}, nil
	}
	own := p.instance.Spec.Metadata.Postgres == nil
	secret, err := c.secret(ctx, p)
	switch {
	case err != nil:
		return p.handleApplyError(&p.metadata, v1alpha1.ReasonEnsureFailed, err), nil
	case secret == nil && own:
		return c.makeCredentials(ctx, p)
	}
	if missing := credentials.Missing(p.instance, secret); missing != "" {
		return p.setFailure(&p.metadata, status.Failure{Reason: v1alpha1.ReasonPostgresSecretPreflightFailed, Message: missing}, credentials.Interval), nil
	}
	if own {
		if err := c.keep(ctx, p, secret); err != nil {
			return p.handleApplyError(&p.metadata, v1alpha1.ReasonPostgresEnsureFailed, err), nil
		}
	}
	return steps.Result{Requeue: credentials.Interval}, nil
}

// secret reads the credentials from the API server; nil when they do not exist.
func (c *Reconciler) secret(ctx context.Context, p *reconcileState) (*corev1.Secret, error) {
	return credentials.Get(ctx, c.APIReader, p.instance)
}

// makeCredentials makes the Secret of the operator's own database, unless data exists
// that was set up with another password.
func (c *Reconciler) makeCredentials(ctx context.Context, p *reconcileState) (steps.Result, error) {
	lost := p.database != nil
	if !lost {
		var err error
		if lost, err = c.volumeExists(ctx, p); err != nil {
			return p.handleApplyError(&p.metadata, v1alpha1.ReasonPostgresEnsureFailed, err), nil
		}
	}
	if lost {
		return p.setFailure(&p.metadata, status.Failure{
			Reason: v1alpha1.ReasonPostgresCredentialsLost, Terminal: true,
			Message: fmt.Sprintf("Secret %q was deleted but its database exists: restore the Secret.", names.PostgresSecret(p.instance.Name)),
		}, requeueTerminal), nil
	}
	if err := c.createCredentials(ctx, p); err != nil {
		return p.handleApplyError(&p.metadata, v1alpha1.ReasonPostgresEnsureFailed, err), nil
	}
	return steps.Result{}, nil
}

// volumeExists reports whether an earlier instance of the name left its database's volume.
func (c *Reconciler) volumeExists(ctx context.Context, p *reconcileState) (bool, error) {
	name := names.PostgresClaim(p.instance.Name)
	claim := &metav1.PartialObjectMetadata{}
	claim.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"))
	err := c.APIReader.Get(ctx, client.ObjectKey{Namespace: p.instance.Namespace, Name: name}, claim)
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("get volume claim %q: %w", name, err)
	}
	return err == nil, nil
}

// createCredentials makes the Secret once. It is created, never applied: a second
// writer must not change the password that the data was initialized with.
func (c *Reconciler) createCredentials(ctx context.Context, p *reconcileState) error {
	password, err := c.NewPassword()
	if err != nil {
		return fmt.Errorf("make a password for the database of instance %q: %w", p.instance.Name, err)
	}
	secret := render.PostgresCredentials(p.instance, password)
	if err := c.Client.Create(ctx, secret, client.FieldOwner(names.FieldManager)); err != nil {
		return fmt.Errorf("create secret %q: %w", secret.Name, err)
	}
	return nil
}

// formerID is the id of an instance of the same name whose own database is still there.
func (c *Reconciler) formerID(ctx context.Context, p *reconcileState) (string, error) {
	if p.instance.Spec.Metadata.Postgres != nil {
		return "", nil
	}
	secret, err := c.secret(ctx, p)
	if err != nil || secret == nil {
		return "", err
	}
	return secret.Annotations[names.AnnotationInstanceID], nil
}

// keepCredentials is [Controller.keep] for an instance that is about to go.
func (c *Reconciler) keepCredentials(ctx context.Context, p *reconcileState) error {
	if p.instance.Spec.Metadata.Postgres != nil {
		return nil
	}
	secret, err := c.secret(ctx, p)
	if err != nil || secret == nil {
		return err
	}
	return c.keep(ctx, p, secret)
}

// keep makes the Secret of the own database outlive the instance, as the database's
// volume does: an earlier operator made it go with its owner. The id is noted once.
func (c *Reconciler) keep(ctx context.Context, p *reconcileState, secret *corev1.Secret) error {
	before := secret.DeepCopy()
	secret.OwnerReferences = slices.DeleteFunc(secret.OwnerReferences, func(r metav1.OwnerReference) bool { return r.UID == p.instance.UID })
	if secret.Annotations[names.AnnotationInstanceID] == "" && p.instance.Spec.ID != "" {
		metav1.SetMetaDataAnnotation(&secret.ObjectMeta, names.AnnotationInstanceID, p.instance.Spec.ID)
	}
	if len(secret.OwnerReferences) == len(before.OwnerReferences) &&
		secret.Annotations[names.AnnotationInstanceID] == before.Annotations[names.AnnotationInstanceID] {
		return nil
	}
	err := c.Client.Patch(ctx, secret, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}), client.FieldOwner(names.FieldManager))
	if err != nil {
		return fmt.Errorf("keep secret %q: %w", secret.Name, err)
	}
	return nil
}

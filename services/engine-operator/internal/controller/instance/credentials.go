package instance

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/kube/steps"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/credentials"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/render"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/status"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/volume"
)

// checkCredentials ensures that the Secret with the database's credentials exists.
// It generates a password only for a database that was never initialized.
func (r *Reconciler) checkCredentials(ctx context.Context, s *reconcileState) (steps.Result, error) {
	if s.metadata.Failure != nil {
		return steps.Result{}, nil
	}
	own := s.instance.Spec.Metadata.Postgres == nil
	secret, err := r.secret(ctx, s)
	switch {
	case err != nil:
		return s.handleApplyError(&s.metadata, v1alpha1.ReasonEnsureFailed, err), nil
	case secret == nil && own:
		return r.ensureCredentials(ctx, s)
	}
	if missing := credentials.Missing(s.instance, secret); missing != "" {
		return s.setFailure(&s.metadata, status.NewCredentialsMissing(missing), credentials.Interval), nil
	}
	if own {
		if id := secret.Annotations[names.AnnotationInstanceID]; id != "" && id != s.instance.Spec.ID {
			failure := status.NewIDMismatch(secret.Name, names.PostgresClaim(s.instance.Name), id, s.instance.Spec.ID)
			return s.setFailure(&s.metadata, failure, requeueTerminal), nil
		}
		if err := r.retainSecret(ctx, s, secret); err != nil {
			return s.handleApplyError(&s.metadata, v1alpha1.ReasonPostgresEnsureFailed, err), nil
		}
	}
	return steps.Result{Requeue: credentials.Recheck(s.instance)}, nil
}

// secret reads the credentials from the API server; it returns nil if they do not exist.
func (r *Reconciler) secret(ctx context.Context, s *reconcileState) (*corev1.Secret, error) {
	return credentials.Get(ctx, r.APIReader, s.instance)
}

// ensureCredentials creates the Secret of the operator's own database, unless data exists
// that was initialized with another password.
func (r *Reconciler) ensureCredentials(ctx context.Context, s *reconcileState) (steps.Result, error) {
	lost := s.database != nil
	if !lost {
		var err error
		if lost, err = r.volumeExists(ctx, s); err != nil {
			return s.handleApplyError(&s.metadata, v1alpha1.ReasonPostgresEnsureFailed, err), nil
		}
	}
	if lost {
		return s.setFailure(&s.metadata, status.NewCredentialsLost(names.PostgresSecret(s.instance.Name)), requeueTerminal), nil
	}
	if err := r.createCredentials(ctx, s); err != nil {
		return s.handleApplyError(&s.metadata, v1alpha1.ReasonPostgresEnsureFailed, err), nil
	}
	return steps.Result{}, nil
}

// volumeExists reports whether the database volume of an earlier instance with the same name exists.
func (r *Reconciler) volumeExists(ctx context.Context, s *reconcileState) (bool, error) {
	_, err := volume.Claim(ctx, r.APIReader, s.instance.Namespace, s.instance.Name)
	return err == nil, client.IgnoreNotFound(err)
}

// createCredentials creates the Secret once. It is created, never applied: a second
// writer must not change the password that the data was initialized with.
func (r *Reconciler) createCredentials(ctx context.Context, s *reconcileState) error {
	password, err := r.NewPassword()
	if err != nil {
		return fmt.Errorf("generate password for the database of instance %q: %w", s.instance.Name, err)
	}
	secret := render.PostgresCredentials(s.instance, password)
	if err := r.Client.Create(ctx, secret, client.FieldOwner(names.FieldManager)); err != nil {
		return fmt.Errorf("create secret %q: %w", secret.Name, err)
	}
	return nil
}

// formerID returns the id of an earlier instance with the same name whose own database still exists.
func (r *Reconciler) formerID(ctx context.Context, s *reconcileState) (string, error) {
	if s.instance.Spec.Metadata.Postgres != nil {
		return "", nil
	}
	return credentials.FormerID(ctx, r.APIReader, s.instance.Namespace, s.instance.Name)
}

// retainCredentials calls [Reconciler.retainSecret] for an instance that is about to be deleted. An instance with an
// external database may have had its own one.
func (r *Reconciler) retainCredentials(ctx context.Context, s *reconcileState) error {
	secret := &corev1.Secret{}
	name := names.PostgresSecret(s.instance.Name)
	err := r.APIReader.Get(ctx, client.ObjectKey{Namespace: s.instance.Namespace, Name: name}, secret)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("get secret %q: %w", name, err)
	}
	return r.retainSecret(ctx, s, secret)
}

// retainSecret makes the Secret of the own database outlive the instance.
func (r *Reconciler) retainSecret(ctx context.Context, s *reconcileState, secret *corev1.Secret) error {
	spec := s.instance.Spec
	err := credentials.Retain(ctx, r.patchOwned, secret, s.instance.UID, spec.ID, spec.Metadata.Postgres != nil)
	if err != nil {
		return fmt.Errorf("patch secret %q: %w", secret.Name, err)
	}
	return nil
}

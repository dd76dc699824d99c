package certs

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/retry"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// injectors are annotations that make another controller set the caBundle.
var injectors = []string{"cert-manager.io/inject-ca-from", "cert-manager.io/inject-ca-from-secret", "cert-manager.io/inject-apiserver-ca"}

// inject sets the caBundle of the webhook configurations. It creates none: the
// administrator decides which requests the API server sends to the webhooks.
func (r *Rotator) inject(ctx context.Context, bundle []byte) error {
	validating, mutating := &admissionv1.ValidatingWebhookConfiguration{}, &admissionv1.MutatingWebhookConfiguration{}
	return errors.Join(
		r.patchWithRetry(ctx, validating, bundle, func() (out []*admissionv1.WebhookClientConfig) {
			for i := range validating.Webhooks {
				out = append(out, &validating.Webhooks[i].ClientConfig)
			}
			return out
		}),
		r.patchWithRetry(ctx, mutating, bundle, func() (out []*admissionv1.WebhookClientConfig) {
			for i := range mutating.Webhooks {
				out = append(out, &mutating.Webhooks[i].ClientConfig)
			}
			return out
		}),
	)
}

type clientConfigs func() []*admissionv1.WebhookClientConfig

// patchWithRetry retries after a conflict with another replica.
func (r *Rotator) patchWithRetry(ctx context.Context, into client.Object, bundle []byte, clients clientConfigs) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error { return r.patchCABundle(ctx, into, bundle, clients) })
}

// patchCABundle patches one configuration. The patch carries the resource version and only the
// changes.
func (r *Rotator) patchCABundle(ctx context.Context, into client.Object, bundle []byte, clients clientConfigs) error {
	err := r.APIReader.Get(ctx, client.ObjectKey{Name: r.Configuration}, into)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case apierrors.IsForbidden(err):
		// An administrator who withholds the permission sets the caBundle.
		ctrl.LoggerFrom(ctx).V(1).Info("No permission to patch the caBundle", "reason", err.Error())
		return nil
	case err != nil:
		return fmt.Errorf("get webhook configuration %q: %w", r.Configuration, err)
	}
	for _, annotation := range injectors {
		if into.GetAnnotations()[annotation] != "" {
			return fmt.Errorf("webhook configuration %q has annotation %s, so another controller sets its caBundle: remove the annotation, or set --webhook-cert-dir", r.Configuration, annotation)
		}
	}
	before, ok := into.DeepCopyObject().(client.Object)
	if !ok {
		return fmt.Errorf("copy webhook configuration %q", r.Configuration)
	}
	changed := false
	for _, c := range clients() {
		if !bytes.Equal(c.CABundle, bundle) {
			c.CABundle, changed = bundle, true
		}
	}
	if !changed {
		return nil
	}
	patch := client.StrategicMergeFrom(before, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Patch(ctx, into, patch, client.FieldOwner(r.FieldManager)); err != nil {
		return fmt.Errorf("patch caBundle of webhook configuration %q: %w", r.Configuration, err)
	}
	ctrl.LoggerFrom(ctx).Info("Patched caBundle", "configuration", r.Configuration)
	return nil
}

package certs

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// injectors are annotations that make another controller set the caBundle.
var injectors = []string{"cert-manager.io/inject-ca-from", "cert-manager.io/inject-ca-from-secret", "cert-manager.io/inject-apiserver-ca"}

// inject makes the webhook configurations trust the bundle. It creates none: whether
// requests pass the webhooks is the decision of those who install them.
func (k *Rotator) inject(ctx context.Context, bundle []byte) error {
	validating, mutating := &admissionv1.ValidatingWebhookConfiguration{}, &admissionv1.MutatingWebhookConfiguration{}
	return errors.Join(
		k.trustAtLast(ctx, validating, bundle, func() (out []*admissionv1.WebhookClientConfig) {
			for i := range validating.Webhooks {
				out = append(out, &validating.Webhooks[i].ClientConfig)
			}
			return out
		}),
		k.trustAtLast(ctx, mutating, bundle, func() (out []*admissionv1.WebhookClientConfig) {
			for i := range mutating.Webhooks {
				out = append(out, &mutating.Webhooks[i].ClientConfig)
			}
			return out
		}),
	)
}

type clientConfigs func() []*admissionv1.WebhookClientConfig

// trustAtLast retries after a conflict with another replica.
func (k *Rotator) trustAtLast(ctx context.Context, into client.Object, bundle []byte, clients clientConfigs) error {
	var err error
	for range lostRaces {
		if err = k.trust(ctx, into, bundle, clients); !apierrors.IsConflict(err) {
			return err
		}
	}
	return err
}

// trust patches one configuration. The patch carries the resource version and only the
// changes.
func (k *Rotator) trust(ctx context.Context, into client.Object, bundle []byte, clients clientConfigs) error {
	err := k.Live.Get(ctx, client.ObjectKey{Name: k.Configuration}, into)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case apierrors.IsForbidden(err):
		// An administrator who withholds the permission sets the caBundle.
		ctrl.LoggerFrom(ctx).V(1).Info("May not look after the caBundle", "reason", err.Error())
		return nil
	case err != nil:
		return fmt.Errorf("read webhook configuration %q: %w", k.Configuration, err)
	}
	for _, annotation := range injectors {
		if into.GetAnnotations()[annotation] != "" {
			return fmt.Errorf("webhook configuration %q has annotation %s, which asks somebody else for its caBundle: remove it, or give --webhook-cert-dir", k.Configuration, annotation)
		}
	}
	before, ok := into.DeepCopyObject().(client.Object)
	if !ok {
		return fmt.Errorf("copy webhook configuration %q", k.Configuration)
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
	if err := k.Client.Patch(ctx, into, patch, client.FieldOwner(k.FieldManager)); err != nil {
		return fmt.Errorf("write the caBundle of webhook configuration %q: %w", k.Configuration, err)
	}
	ctrl.LoggerFrom(ctx).Info("Wrote the caBundle", "configuration", k.Configuration)
	return nil
}

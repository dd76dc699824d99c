// Package credentials checks the Secret with the database credentials of an instance.
//
// Secrets are read one by one from the API server and never cached, so no watch reports the
// deletion of one: the instance controller checks again after [Recheck], and an engine checks
// before it starts work that requires the instance. If the engine then finds no Secret, the
// instance controller checks at once.
package credentials

import (
	"context"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/render"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/volume"
)

const (
	// Interval is how often the Secret of an instance is read whose metadata service is not ready.
	Interval = 8 * time.Second
	// minReady and maxReady bound the interval for an instance whose metadata service is ready.
	minReady, maxReady = 50 * time.Second, 60 * time.Second
)

// Recheck returns the delay of the next read of a complete Secret. It differs among ready instances, so that the reads of
// thousands are spread over time.
func Recheck(i *v1alpha1.FireboltInstance) time.Duration {
	if !i.Status.MetadataReady || i.Status.ObservedGeneration != i.Generation {
		return Interval
	}
	share := float64(crc32.ChecksumIEEE([]byte(i.UID))) / math.MaxUint32
	return minReady + time.Duration(share*float64(maxReady-minReady))
}

// Get reads the Secret of an instance; nil when it does not exist.
func Get(ctx context.Context, r client.Reader, i *v1alpha1.FireboltInstance) (*corev1.Secret, error) {
	return get(ctx, r, i.Namespace, render.DatabaseOf(i).Secret)
}

func get(ctx context.Context, r client.Reader, namespace, name string) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	err := r.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, secret)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get secret %q: %w", name, err)
	}
	return secret, nil
}

// FormerID returns the id of an earlier instance with the same name whose own database still exists: its data was written
// under that id. It is empty without one.
func FormerID(ctx context.Context, r client.Reader, namespace, instance string) (string, error) {
	secret, err := get(ctx, r, namespace, names.PostgresSecret(instance))
	if err != nil || secret == nil {
		return "", err
	}
	return secret.Annotations[names.AnnotationInstanceID], nil
}

// Retain makes the Secret of an instance's own database outlive the instance, as the volume does: an earlier operator made the
// instance its owner. It records the id of the data once. The Secret of an instance with an external database is retained
// only if the instance owns it, and so had its own database.
func Retain(ctx context.Context, patch volume.Patch, secret *corev1.Secret, instance types.UID, id string, external bool) error {
	before := secret.DeepCopy()
	secret.OwnerReferences = slices.DeleteFunc(secret.OwnerReferences, func(o metav1.OwnerReference) bool { return o.UID == instance })
	owned := len(secret.OwnerReferences) < len(before.OwnerReferences)
	record := id != "" && secret.Annotations[names.AnnotationInstanceID] == "" && (owned || !external)
	if record {
		metav1.SetMetaDataAnnotation(&secret.ObjectMeta, names.AnnotationInstanceID, id)
	}
	if !owned && !record {
		return nil
	}
	return patch(ctx, secret, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

// Missing describes what the Secret lacks; it is empty if the Secret is complete. secret is
// nil if it does not exist.
func Missing(i *v1alpha1.FireboltInstance, secret *corev1.Secret) string {
	own := i.Spec.Metadata.Postgres == nil
	if secret == nil {
		text := fmt.Sprintf("Secret %q", render.DatabaseOf(i).Secret)
		if !own {
			text += " (spec.metadata.postgres.credentialsSecretRef)"
		}
		return text + " does not exist. Create it."
	}
	keys := []string{render.SecretUsername, render.SecretPassword}
	if own {
		keys = append(keys, render.SecretDatabase)
	}
	for _, key := range keys {
		if len(secret.Data[key]) == 0 {
			return fmt.Sprintf("Secret %q has no key %q. Add the key.", secret.Name, key)
		}
	}
	return ""
}

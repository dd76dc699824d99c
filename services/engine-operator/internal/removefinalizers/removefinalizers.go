package removefinalizers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/kube/rejection"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/credentials"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/volume"
)

// kinds are processed in this order: an engine refers to the other two.
var kinds = []struct{ kind, finalizer string }{
	{"FireboltEngine", v1alpha1.EngineFinalizer},
	{"FireboltEngineClass", v1alpha1.ClassFinalizer},
	{"FireboltInstance", v1alpha1.InstanceFinalizer},
}

// counts counts the objects of one kind.
type counts struct {
	// Released objects lost our finalizer, or would lose it; Terminating ones were being deleted.
	Released, Terminating int
	// Remaining objects got the finalizer again meanwhile.
	Remaining int
	// Failed describes the objects that keep the finalizer because a patch was rejected.
	Failed []string
}

const (
	pageSize = 500
	// maxLists is how often a kind is listed: objects that are created meanwhile may have the
	// finalizer too.
	maxLists = 3
	// conflicts is how often the patch of a changing object is retried.
	conflicts = 20
)

// runner removes the finalizer of one kind.
type runner struct {
	client    client.Client
	kind      string
	finalizer string
	dryRun    bool
	counts    counts
	failed    map[types.UID]bool // further lists omit them
}

func (r *runner) run(ctx context.Context, namespaces []string) (counts, error) {
	if len(namespaces) == 0 {
		namespaces = []string{metav1.NamespaceAll}
	}
	for attempt := 1; ; attempt++ {
		found := 0
		for _, namespace := range namespaces {
			n, err := r.list(ctx, namespace, attempt > maxLists)
			if err != nil {
				return r.counts, fmt.Errorf("remove finalizers of %s: %w", r.kind, err)
			}
			found += n
		}
		if attempt > maxLists {
			r.counts.Remaining = found
		}
		if found == 0 || r.dryRun || attempt > maxLists {
			return r.counts, nil
		}
	}
}

// list processes every object of a list and returns how many carried our finalizer.
func (r *runner) list(ctx context.Context, namespace string, countOnly bool) (found int, err error) {
	next := ""
	for {
		var page metav1.PartialObjectMetadataList
		page.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(r.kind + "List"))
		err := r.client.List(ctx, &page, client.InNamespace(namespace), client.Limit(pageSize), client.Continue(next))
		if apierrors.IsResourceExpired(err) {
			return found + 1, nil // the list expired: the next list returns the remaining objects
		}
		if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
			return found, errNotInstalled
		}
		if err != nil {
			return found, fmt.Errorf("list: %w", err)
		}
		for i := range page.Items {
			item := &page.Items[i]
			if !slices.Contains(item.GetFinalizers(), r.finalizer) || r.failed[item.GetUID()] {
				continue
			}
			found++
			if countOnly {
				continue
			}
			if err := r.object(ctx, item); err != nil {
				return found, err
			}
		}
		if next = page.GetContinue(); next == "" {
			return found, nil
		}
	}
}

// object removes the finalizer of one object; after a conflict it reads the object again.
func (r *runner) object(ctx context.Context, item *metav1.PartialObjectMetadata) error {
	key := client.ObjectKeyFromObject(item)
	for attempt := 1; ; attempt++ {
		terminating := item.GetDeletionTimestamp() != nil
		err := r.removeFinalizer(ctx, item)
		if err == nil {
			r.counts.Released++
			if terminating {
				r.counts.Terminating++
			}
			return nil
		}
		if apierrors.IsConflict(err) && attempt < conflicts {
			item.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(r.kind))
			err = r.client.Get(ctx, key, item)
			if err == nil && !slices.Contains(item.GetFinalizers(), r.finalizer) {
				return nil
			}
		}
		if apierrors.IsNotFound(err) {
			return nil
		}
		if errors.Is(err, errRejected) {
			r.failed[item.GetUID()] = true
			r.counts.Failed = append(r.counts.Failed, fmt.Sprintf("%s %s: %v", r.kind, key, err))
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
}

func (r *runner) removeFinalizer(ctx context.Context, item *metav1.PartialObjectMetadata) error {
	if r.dryRun {
		return nil
	}
	if r.finalizer == v1alpha1.InstanceFinalizer {
		if err := r.retainCredentials(ctx, item); err != nil {
			return err
		}
		if err := r.retainVolume(ctx, item); err != nil {
			return err
		}
	}
	remaining := slices.DeleteFunc(slices.Clone(item.GetFinalizers()), func(f string) bool { return f == r.finalizer })
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": item.GetUID(), "resourceVersion": item.GetResourceVersion(), "finalizers": remaining,
	}})
	if err != nil {
		return fmt.Errorf("encode patch: %w", err)
	}
	target := &metav1.PartialObjectMetadata{}
	target.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(r.kind))
	target.SetNamespace(item.GetNamespace())
	target.SetName(item.GetName())
	return r.patch(ctx, target, client.RawPatch(types.MergePatchType, patch))
}

// errNotInstalled means that the API server has no CRD of the kind.
var errNotInstalled = errors.New("the CRD is not installed")

// errRejected means that a patch was rejected because of its object: other objects may be patched.
var errRejected = errors.New("rejected")

func (r *runner) patch(ctx context.Context, target client.Object, patch client.Patch) error {
	err := r.client.Patch(ctx, target, patch, client.FieldOwner(names.FieldManager))
	if err == nil || apierrors.IsConflict(err) || !rejection.IsSpecific(ctx, r.client, rejection.Write{Verb: "patch", Object: target}, err) {
		return err
	}
	return fmt.Errorf("%w: %w", errRejected, err)
}

// retainCredentials makes the Secret of the instance's own database outlive it.
func (r *runner) retainCredentials(ctx context.Context, instance *metav1.PartialObjectMetadata) error {
	secret := &corev1.Secret{}
	name := names.PostgresSecret(instance.GetName())
	err := r.client.Get(ctx, client.ObjectKey{Namespace: instance.GetNamespace(), Name: name}, secret)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("get secret %q: %w", name, err)
	}
	id, external, err := r.identity(ctx, instance)
	if err != nil {
		return err
	}
	return credentials.Retain(ctx, r.patch, secret, instance.GetUID(), id, external)
}

// identity returns the id of an instance, empty if it has none yet, and whether its database is an external one.
func (r *runner) identity(ctx context.Context, instance *metav1.PartialObjectMetadata) (id string, external bool, err error) {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(r.kind))
	if err := r.client.Get(ctx, client.ObjectKeyFromObject(instance), u); err != nil {
		return "", false, err
	}
	if id, _, err = unstructured.NestedString(u.Object, "spec", "id"); err != nil {
		return "", false, fmt.Errorf("read id: %w", err)
	}
	_, external, err = unstructured.NestedMap(u.Object, "spec", "metadata", "postgres")
	if err != nil {
		return "", false, fmt.Errorf("read database: %w", err)
	}
	return id, external, nil
}

// Kubernetes may attach a volume again until it has observed the policy of its StatefulSet.
const (
	retainInterval = time.Second
	retainTimeout  = time.Minute
)

// retainVolume makes the volume of the instance's own database outlive its StatefulSet, which is
// garbage-collected with the instance. It repeats this until nothing is left to do.
func (r *runner) retainVolume(ctx context.Context, instance *metav1.PartialObjectMetadata) error {
	name := names.Postgres(instance.GetName())
	err := wait.PollUntilContextTimeout(ctx, retainInterval, retainTimeout, true, func(ctx context.Context) (bool, error) {
		set := &appsv1.StatefulSet{}
		err := r.client.Get(ctx, client.ObjectKey{Namespace: instance.GetNamespace(), Name: name}, set)
		if apierrors.IsNotFound(err) || err == nil && !metav1.IsControlledBy(set, instance) {
			return true, nil
		}
		if err != nil {
			return false, fmt.Errorf("get statefulset %q: %w", name, err)
		}
		return volume.Retain(ctx, r.client, r.patch, instance.GetName(), set)
	})
	if wait.Interrupted(err) {
		return fmt.Errorf("the volume claim of statefulset %q is attached again each time: %w", name, err)
	}
	return err
}

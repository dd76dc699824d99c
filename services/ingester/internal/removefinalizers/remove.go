package removefinalizers

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/flotilla-dev/flotilla/libs/kube/rejection"

	"github.com/flotilla-dev/flotilla/services/ingester/api"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/command"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/listing"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/storage"
)

// Counts counts the objects of one kind.
type Counts struct {
	Kind string `json:"kind"`
	// Released counts objects whose finalizer was removed, or would be.
	Released int `json:"released"`
	// Terminating counts those of them that were terminating; they are deleted unless a foreign finalizer holds them.
	Terminating int `json:"terminating"`
	// RowsClosed counts their rows that were closed, RowsLive those that stay live because MySQL was unavailable.
	RowsClosed int `json:"rowsClosed"`
	RowsLive   int `json:"rowsLive"`
	// Failed counts objects that keep the finalizer because their patch was rejected.
	Failed int `json:"failed"`
	// Left counts objects that got the finalizer again meanwhile.
	Left int `json:"left"`
	// NotServed is set if the cluster does not serve the kind, as without its CRD: it has no objects to release.
	NotServed bool `json:"notServed,omitempty"`
}

const (
	pageSize = 500
	parallel = 8
	// maxAttempts bounds the lists of a kind: objects that are created meanwhile may have the finalizer too.
	maxAttempts = 3
	// maxConflicts bounds the attempts to patch one object after conflicts.
	maxConflicts = 20
)

// remover removes the finalizer from the objects of one kind.
type remover struct {
	env    command.Env
	kind   *registry.Kind
	dryRun bool
	close  bool // rows of terminating objects

	mu       sync.Mutex
	counts   Counts
	problems map[types.UID]command.Problem // by object, which further lists omit
}

func (r *remover) run(ctx context.Context, namespaces []string) (Counts, error) {
	r.counts.Kind = r.kind.Name
	if len(namespaces) == 0 {
		namespaces = []string{metav1.NamespaceAll}
	}
	for attempt := 1; ; attempt++ {
		found := 0
		for _, namespace := range namespaces {
			n, err := r.removeFromList(ctx, namespace, attempt > maxAttempts)
			if err != nil {
				return r.counts, command.Explain(fmt.Errorf("remove finalizers from %s: %w", r.kind.Plural, err))
			}
			found += n
		}
		if attempt > maxAttempts {
			r.counts.Left = found
		}
		if found == 0 || r.dryRun || attempt > maxAttempts {
			return r.counts, nil
		}
	}
}

// removeFromList handles every object of one list, and returns how many had our finalizer.
func (r *remover) removeFromList(ctx context.Context, namespace string, countOnly bool) (found int, err error) {
	next := ""
	for {
		var page metav1.PartialObjectMetadataList
		gvk := r.kind.GVK()
		page.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		err := r.env.Client.List(ctx, &page, client.InNamespace(namespace), client.Limit(pageSize), client.Continue(next))
		if apierrors.IsResourceExpired(err) {
			return found + 1, nil // the list expired: the next list returns the rest
		}
		if listing.NotServed(err) {
			r.counts.NotServed = true
			return 0, nil
		}
		if err != nil {
			return found, fmt.Errorf("list: %w", err)
		}
		group, inner := errgroup.WithContext(ctx)
		group.SetLimit(parallel)
		for i := range page.Items {
			item := &page.Items[i]
			if !hasFinalizer(item) || r.failed(item) {
				continue
			}
			found++
			if !countOnly {
				group.Go(func() error { return r.object(inner, item) })
			}
		}
		if err := group.Wait(); err != nil {
			return found, err
		}
		r.env.Log.V(1).Info("Removed finalizers", "kind", r.kind.Name, "objects", r.counts.Released)
		if next = page.GetContinue(); next == "" {
			return found, nil
		}
	}
}

func hasFinalizer(item *metav1.PartialObjectMetadata) bool {
	return slices.Contains(item.GetFinalizers(), api.IngesterFinalizer)
}

// object removes the finalizer from one object. If it is terminating, its row is closed first.
func (r *remover) object(ctx context.Context, item *metav1.PartialObjectMetadata) error {
	key := types.NamespacedName{Namespace: item.GetNamespace(), Name: item.GetName()}
	for attempt := 1; ; attempt++ {
		terminating := item.GetDeletionTimestamp() != nil
		closed := false
		if terminating && r.close {
			closed = r.dryRun || r.finish(ctx, item)
		}
		err := r.patch(ctx, item)
		if err == nil {
			r.count(terminating, closed)
			return nil
		}
		if apierrors.IsNotFound(err) {
			return nil
		}
		if !apierrors.IsConflict(err) || attempt == maxConflicts {
			return r.fail(ctx, item, err)
		}
		item.SetGroupVersionKind(r.kind.GVK())
		if err := r.env.Client.Get(ctx, key, item); err != nil {
			if apierrors.IsNotFound(err) {
				return nil
			}
			return fmt.Errorf("%s: %w", key, err)
		}
		if !hasFinalizer(item) {
			return nil
		}
	}
}

// fail records an object whose patch was rejected. It returns the error of a patch that fails for all objects.
func (r *remover) fail(ctx context.Context, item *metav1.PartialObjectMetadata, err error) error {
	item.SetGroupVersionKind(r.kind.GVK())
	if !rejection.IsSpecific(ctx, r.env.Client, rejection.Write{Verb: "patch", Object: item}, err) {
		return fmt.Errorf("%s: %w", client.ObjectKeyFromObject(item), err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.problems[item.GetUID()] = command.Problem{Kind: r.kind.Name, Namespace: item.GetNamespace(), Name: item.GetName(), Text: err.Error()}
	return nil
}

func (r *remover) failed(item *metav1.PartialObjectMetadata) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, found := r.problems[item.GetUID()]
	return found
}

// sortedProblems returns the problems in the order of namespaces and names.
func (r *remover) sortedProblems() []command.Problem {
	return slices.SortedFunc(maps.Values(r.problems), func(a, b command.Problem) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
}

func (r *remover) count(terminating, closed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts.Released++
	if !terminating {
		return
	}
	r.counts.Terminating++
	if closed {
		r.counts.RowsClosed++
	} else {
		r.counts.RowsLive++
	}
}

// finish stores the final state and closes the row. A failure is logged and counted; the
// finalizer is removed nevertheless.
func (r *remover) finish(ctx context.Context, item *metav1.PartialObjectMetadata) bool {
	var live unstructured.Unstructured
	live.SetGroupVersionKind(r.kind.GVK())
	err := r.env.Client.Get(ctx, client.ObjectKeyFromObject(item), &live)
	if err == nil && live.GetUID() == item.GetUID() {
		err = r.env.Store.Finish(ctx, &live)
	}
	if err == nil || errors.Is(err, storage.ErrStale) {
		return err == nil
	}
	r.env.Log.Error(err, "Failed to close the row, it stays live", "kind", r.kind.Name, "namespace", item.GetNamespace(), "name", item.GetName())
	return false
}

// patch removes our finalizer unless the object has changed.
func (r *remover) patch(ctx context.Context, item *metav1.PartialObjectMetadata) error {
	if r.dryRun {
		return nil
	}
	remaining := slices.DeleteFunc(slices.Clone(item.GetFinalizers()), func(f string) bool { return f == api.IngesterFinalizer })
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": item.GetUID(), "resourceVersion": item.GetResourceVersion(), "finalizers": remaining,
	}})
	if err != nil {
		return fmt.Errorf("encode patch: %w", err)
	}
	target := r.kind.Metadata(item.GetNamespace(), item.GetName())
	return r.env.Client.Patch(ctx, target, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(fieldManager))
}

// fieldManager is the ingester's: the manager that added the finalizer removes it.
const fieldManager = "ingester"

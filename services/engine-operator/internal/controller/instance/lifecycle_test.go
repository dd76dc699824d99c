package instance

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/metrics"
)

var errEngines = errors.New("engines cannot be listed")

// stubCache has at most one instance, and fails to list its engines.
type stubCache struct {
	client.Client
	instance *v1alpha1.FireboltInstance
	listed   []client.ListOption
}

func (s *stubCache) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	i, ok := into.(*v1alpha1.FireboltInstance)
	if !ok || s.instance == nil {
		return apierrors.NewNotFound(v1alpha1.GroupVersion.WithResource("fireboltinstances").GroupResource(), key.Name)
	}
	s.instance.DeepCopyInto(i)
	return nil
}

func (s *stubCache) List(_ context.Context, _ client.ObjectList, options ...client.ListOption) error {
	s.listed = options
	return errEngines
}

// deletions records the published deletions.
type deletions struct {
	Reporter
	uids []string
}

func (d *deletions) Delete(o contract.Object) { d.uids = append(d.uids, o.UID) }

func instanceWithUID(uid types.UID) *v1alpha1.FireboltInstance {
	return &v1alpha1.FireboltInstance{ObjectMeta: metav1.ObjectMeta{
		Namespace: "n", Name: "a", UID: uid, Finalizers: []string{v1alpha1.InstanceFinalizer},
	}}
}

// Another client may remove the finalizer, so that the operator finds the instance deleted, or another one of the same name.
func TestInstanceDeletedByAnotherClientIsForgotten(t *testing.T) {
	terminating := instanceWithUID("old")
	terminating.DeletionTimestamp, terminating.Finalizers = new(metav1.Now()), []string{"example.com/keep"}
	for name, found := range map[string][]*v1alpha1.FireboltInstance{
		"deleted":               {nil},
		"replaced":              {instanceWithUID("new")},
		"without our finalizer": {terminating, nil},
	} {
		t.Run(name, func(t *testing.T) {
			cache, published := &stubCache{}, &deletions{}
			r := New(Config{Client: cache, APIReader: cache, Reporter: published, Clock: clocktesting.NewFakePassiveClock(time.Unix(0, 0))})
			reconcile := func(i *v1alpha1.FireboltInstance) {
				t.Helper()
				cache.instance = i
				_, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "n", Name: "a"}})
				if err != nil && !errors.Is(err, errEngines) {
					t.Fatal(err)
				}
			}
			registry := prometheus.NewRegistry()
			err := metrics.Register(registry, metrics.Lister{
				Engines: func(context.Context) ([]v1alpha1.FireboltEngine, error) { return nil, nil },
				Instances: func(context.Context) ([]v1alpha1.FireboltInstance, error) {
					return []v1alpha1.FireboltInstance{*instanceWithUID("old")}, nil
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			const lastReconciled = "firebolt_instance_last_reconciled_timestamp_seconds"
			reconcile(instanceWithUID("old"))
			metrics.InstanceReconciled(types.NamespacedName{Namespace: "n", Name: "a"}, time.Unix(1, 0))
			if n, err := testutil.GatherAndCount(registry, lastReconciled); n != 1 || err != nil {
				t.Fatalf("%d series of %s (%v), want 1", n, lastReconciled, err)
			}
			for range 2 {
				for _, i := range found {
					reconcile(i)
				}
			}
			if diff := cmp.Diff([]string{"old"}, published.uids); diff != "" {
				t.Errorf("published deletions (-want +got):\n%s", diff)
			}
			if n, err := testutil.GatherAndCount(registry, lastReconciled); n != 0 || err != nil {
				t.Errorf("%d series of %s (%v), want none", n, lastReconciled, err)
			}
		})
	}
}

func TestFoundEnginesAreNotCopied(t *testing.T) {
	cache := &stubCache{}
	r := &Reconciler{Config: Config{Client: cache}}
	if _, err := r.findEngines(t.Context(), &reconcileState{instance: instanceWithUID("a")}); !errors.Is(err, errEngines) {
		t.Fatal(err)
	}
	options := client.ListOptions{}
	options.ApplyOptions(cache.listed)
	if !ptr.Deref(options.UnsafeDisableDeepCopy, false) {
		t.Errorf("list options = %+v, want UnsafeDisableDeepCopy", options)
	}
}

// lists returns engines and no other objects, and accepts every patch.
type lists struct {
	client.Client
	engines []v1alpha1.FireboltEngine
	patched bool
}

func (l *lists) List(_ context.Context, into client.ObjectList, _ ...client.ListOption) error {
	if list, ok := into.(*v1alpha1.FireboltEngineList); ok {
		list.Items = append(list.Items, l.engines...)
	}
	return nil
}

func (*lists) Get(_ context.Context, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	return apierrors.NewNotFound(corev1.Resource("secrets"), key.Name)
}

func (l *lists) Patch(context.Context, client.Object, client.Patch, ...client.PatchOption) error {
	l.patched = true
	return nil
}

// An engine that was created right before the deletion of its instance may not be in the cache yet.
func TestTerminatingInstanceKeepsFinalizerForUncachedEngine(t *testing.T) {
	engine := func(name, instance string) v1alpha1.FireboltEngine {
		return v1alpha1.FireboltEngine{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.FireboltEngineSpec{InstanceRef: instance}}
	}
	for name, tc := range map[string]struct {
		live    []v1alpha1.FireboltEngine
		deleted bool
	}{
		"no engine":                 {nil, true},
		"an engine of another one":  {[]v1alpha1.FireboltEngine{engine("x", "b")}, true},
		"an engine of the instance": {[]v1alpha1.FireboltEngine{engine("x", "b"), engine("e", "a")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			cache := &lists{}
			r := New(Config{Client: cache, APIReader: &lists{engines: tc.live}, Reporter: &deletions{}, Clock: clocktesting.NewFakePassiveClock(time.Unix(0, 0))})
			s := &reconcileState{instance: instanceWithUID("a")}
			s.instance.DeletionTimestamp = new(metav1.Now())
			result, err := r.reconcileDelete(t.Context(), s)
			if err != nil || s.deleted != tc.deleted || cache.patched != tc.deleted {
				t.Fatalf("deleted = %t, patched = %t, %v; want %t", s.deleted, cache.patched, err, tc.deleted)
			}
			if !tc.deleted && (s.failure == nil || !strings.Contains(s.failure.Message, `engine "e" refers`) || result.Requeue == 0) {
				t.Errorf("failure = %+v, result = %+v", s.failure, result)
			}
		})
	}
}

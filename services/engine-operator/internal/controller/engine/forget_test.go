package engine

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/observe"
)

var errChildren = errors.New("children cannot be listed")

// stubCache has at most one engine, and fails to list its children.
type stubCache struct {
	client.Client
	engine *v1alpha1.FireboltEngine
	listed []client.ListOption
}

func (s *stubCache) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	e, ok := into.(*v1alpha1.FireboltEngine)
	if !ok || s.engine == nil {
		return apierrors.NewNotFound(v1alpha1.GroupVersion.WithResource("fireboltengines").GroupResource(), key.Name)
	}
	s.engine.DeepCopyInto(e)
	return nil
}

func (s *stubCache) List(_ context.Context, into client.ObjectList, options ...client.ListOption) error {
	if _, ok := into.(*v1alpha1.FireboltEngineList); !ok {
		return errChildren
	}
	s.listed = options
	return nil
}

// deletions records the published deletions.
type deletions struct {
	Reporter
	uids []string
}

func (d *deletions) Delete(o contract.Object) { d.uids = append(d.uids, o.UID) }

func engineWithUID(uid types.UID) *v1alpha1.FireboltEngine {
	return &v1alpha1.FireboltEngine{ObjectMeta: metav1.ObjectMeta{
		Namespace: "n", Name: "a", UID: uid, Finalizers: []string{v1alpha1.EngineFinalizer},
	}}
}

// Another client may remove the finalizer, so that the operator finds the engine deleted, or another one of the same name.
func TestEngineDeletedByAnotherClientIsForgotten(t *testing.T) {
	terminating := engineWithUID("old")
	terminating.DeletionTimestamp, terminating.Finalizers = new(metav1.Now()), []string{"example.com/keep"}
	for name, found := range map[string][]*v1alpha1.FireboltEngine{
		"deleted":               {nil},
		"replaced":              {engineWithUID("new")},
		"without our finalizer": {terminating, nil},
	} {
		t.Run(name, func(t *testing.T) {
			cache, published, clock := &stubCache{}, &deletions{}, clocktesting.NewFakePassiveClock(time.Unix(0, 0))
			r := New(Config{Client: cache, APIReader: cache, Reporter: published, Clock: clock, MaxRollouts: 1})
			reconcile := func(e *v1alpha1.FireboltEngine) {
				t.Helper()
				cache.engine = e
				_, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "n", Name: "a"}})
				if err != nil && !errors.Is(err, errChildren) {
					t.Fatal(err)
				}
			}
			acquire := func(e *v1alpha1.FireboltEngine) bool {
				t.Helper()
				acquired, _, err := r.limiter.Acquire(t.Context(), e, 1)
				if err != nil {
					t.Fatal(err)
				}
				return acquired
			}
			old, other := engineWithUID("old"), engineWithUID("other")
			reconcile(old)
			if !acquire(old) || acquire(other) {
				t.Fatal("the only slot is not taken")
			}
			set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: names.Generation("a", 0)}}
			r.sets.LastVersions(old, observe.Children{StatefulSets: map[int64]*appsv1.StatefulSet{0: set}})

			for range 2 {
				for _, e := range found {
					reconcile(e)
				}
			}
			if !acquire(other) {
				t.Error("the slot is not free")
			}
			if sets := r.sets.LastVersions(old, observe.Children{}); len(sets) > 0 {
				t.Errorf("StatefulSets in memory: %v", sets)
			}
			if diff := cmp.Diff([]string{"old"}, published.uids); diff != "" {
				t.Errorf("published deletions (-want +got):\n%s", diff)
			}
		})
	}
}

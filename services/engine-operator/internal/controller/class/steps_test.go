package class

import (
	"context"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
)

// lists returns engines of the class c, counts the lists, and accepts every patch.
type lists struct {
	client.Client
	engines []string
	calls   int
}

func (l *lists) List(_ context.Context, into client.ObjectList, _ ...client.ListOption) error {
	l.calls++
	if list, ok := into.(*v1alpha1.FireboltEngineList); ok {
		for _, name := range l.engines {
			e := v1alpha1.FireboltEngine{ObjectMeta: metav1.ObjectMeta{Name: name}}
			e.Spec.EngineClassRef = new("c")
			list.Items = append(list.Items, e)
		}
	}
	return nil
}

func (*lists) Patch(context.Context, client.Object, client.Patch, ...client.PatchOption) error {
	return nil
}

// The deletion of each of thousands of engines enqueues their terminating class.
func TestTerminatingClassListsFromAPIServerOnlyWithoutCachedEngine(t *testing.T) {
	cases := map[string]struct {
		cached, live []string
		want         []string
		liveLists    int
	}{
		"cached engines":                    {[]string{"b", "a"}, []string{"b", "a"}, []string{"a", "b"}, 0},
		"an engine that the cache lacks":    {nil, []string{"a"}, []string{"a"}, 1},
		"a deleted engine in a stale cache": {[]string{"a"}, nil, []string{"a"}, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			cache, live := &lists{engines: tc.cached}, &lists{engines: tc.live}
			r := &Reconciler{Config: Config{Client: cache, APIReader: live}}
			s := &reconcileState{class: &v1alpha1.FireboltEngineClass{ObjectMeta: metav1.ObjectMeta{
				Name: "c", DeletionTimestamp: new(metav1.Now()), Finalizers: []string{v1alpha1.ClassFinalizer},
			}}}
			result, err := r.reconcileDelete(t.Context(), s)
			if err != nil || !result.Stop || s.deleted {
				t.Fatalf("result = %+v, deleted = %t, %v", result, s.deleted, err)
			}
			if !slices.Equal(s.engines, tc.want) || live.calls != tc.liveLists {
				t.Errorf("engines = %v after %d lists from the API server, want %v after %d", s.engines, live.calls, tc.want, tc.liveLists)
			}
		})
	}
}

package faults

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"

	"github.com/flotilla-dev/flotilla/services/ingester/api"
)

// kinds are the kinds of the objects of a load.
var kinds = []string{"Model", "Project"}

const clients = 8

// load runs clients that create, update and delete objects.
type load struct {
	*env
	total   int64
	done    atomic.Int64
	clients sync.WaitGroup
}

// load begins n operations and returns at once.
func (s *env) load(n int) *load {
	s.Helper()
	l := &load{env: s, total: int64(n)}
	seed := rand.Uint64()
	s.Logf("seed of the load: %d", seed)
	for c := range clients {
		r := rand.New(rand.NewPCG(seed, uint64(c)))
		l.clients.Go(func() {
			for i := 0; l.done.Load() < l.total; i++ {
				if err := l.runLifecycle(r, fmt.Sprintf("o-%d-%d", c, i%40)); err != nil {
					s.Error(err)
					return
				}
			}
		})
	}
	s.Cleanup(l.clients.Wait)
	return l
}

// runLifecycle creates an object, updates it, and may delete it in one of the ways. The name may be that of a former object.
// No admission policy adds our finalizer, so the object may be deleted before or while the controller adds it; the API
// server then removes some objects although they have it, and the orphan sweep must detect that.
func (l *load) runLifecycle(r *rand.Rand, name string) error {
	o := l.object(kinds[r.IntN(len(kinds))], name)
	if err := l.count(l.client.Create(l.Context(), o)); err != nil {
		return err
	}
	for range r.IntN(4) {
		if err := l.patch(o, fmt.Sprintf(`{"metadata":{"labels":{"n":"%d","k%d":"x"}}}`, r.IntN(100), r.IntN(5))); err != nil {
			return err
		}
	}
	switch r.IntN(6) {
	case 0:
		return l.count(l.client.Delete(l.Context(), o))
	case 1:
		return l.patch(o, fmt.Sprintf(`{"metadata":{"annotations":{%q:"true"}}}`, api.DeletingAnnotation))
	case 2:
		return l.patch(o, fmt.Sprintf(`{"metadata":{"annotations":{%q:"true"}}}`, api.ImmutableAnnotation))
	}
	return nil
}

func (l *load) patch(o *unstructured.Unstructured, patch string) error {
	return l.count(l.client.Patch(l.Context(), o.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(patch))))
}

// count counts an operation. NotFound and AlreadyExists are not failures.
func (l *load) count(err error) error {
	if apierrors.IsNotFound(err) || apierrors.IsAlreadyExists(err) || errors.Is(err, context.Canceled) {
		err = nil
	}
	l.done.Add(1)
	return err
}

// object returns a new object of the kind with its required fields.
func (s *env) object(kind, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetAPIVersion(api.GroupVersion)
	o.SetKind(kind)
	o.SetNamespace(s.namespace)
	o.SetName(name)
	o.SetLabels(map[string]string{"team": "growth"})
	o.SetAnnotations(map[string]string{"note": "Grüße"})
	if kind == "Model" {
		o.Object["spec"] = map[string]any{"algorithm": "xgboost", "kind": "MODEL_KIND_BINARY_CLASSIFICATION", "owner": map[string]any{"name": "ada"}}
	} else {
		o.Object["spec"] = map[string]any{"description": "Growth", "tier": int64(2), "owner": map[string]any{"owningTeam": "t"}}
	}
	return o
}

// waitForPart waits until the given part of the operations is done.
func (l *load) waitForPart(part float64) {
	l.Helper()
	want := min(int64(part*float64(l.total)), l.total)
	expect.Eventually(l, 3*expect.Long, func() error {
		if n := l.done.Load(); n < want {
			return fmt.Errorf("%d operations of %d are done", n, want)
		}
		return nil
	})
}

// during injects a fault repeatedly, at random moments of the load, and waits for the end of the load.
func (l *load) during(fail func(i int)) {
	l.Helper()
	for i := range failures {
		l.waitForPart((float64(i) + rand.Float64()) / failures * 0.9)
		fail(i)
	}
	l.clients.Wait()
}

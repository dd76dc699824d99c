package objectsync

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/object"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
)

func listed(t *testing.T, name, uid, version string) *object.Object {
	t.Helper()
	o, err := object.Parse([]byte(listedJSON(name, uid, version)))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func listedJSON(name, uid, version string) string {
	return fmt.Sprintf(`{"apiVersion":"michelangelo.api/v2","kind":"Model","metadata":{"namespace":"ml","name":%q,"uid":%q,"resourceVersion":%q}}`,
		name, uid, version)
}

func key(name string) types.NamespacedName { return types.NamespacedName{Namespace: "ml", Name: name} }

func newQueue(t *testing.T) workqueue.TypedRateLimitingInterface[reconcile.Request] {
	t.Helper()
	q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	t.Cleanup(q.ShutDown)
	return q
}

// names returns the names in the queue.
func names(q workqueue.TypedRateLimitingInterface[reconcile.Request]) map[string]bool {
	out := map[string]bool{}
	for q.Len() > 0 {
		request, _ := q.Get()
		q.Done(request)
		out[request.Name] = true
	}
	return out
}

// newInterruptedServer serves two objects of an incomplete list, and aborts this list when half is closed. Later lists
// lack the second object.
func newInterruptedServer(t *testing.T, half <-chan struct{}) *httptest.Server {
	t.Helper()
	lists := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if req.URL.Query().Get("watch") != "" {
			w.(http.Flusher).Flush()
			<-req.Context().Done()
			return
		}
		lists++
		if lists == 1 {
			_, _ = fmt.Fprintf(w, `{"kind":"ModelList","items":[%s,%s,`, listedJSON("stays", "u1", "7"), listedJSON("goes", "u2", "8"))
			w.(http.Flusher).Flush()
			<-half
			panic(http.ErrAbortHandler)
		}
		_, _ = fmt.Fprintf(w, `{"kind":"ModelList","metadata":{"resourceVersion":"9"},"items":[%s]}`, listedJSON("stays", "u1", "7"))
	}))
	t.Cleanup(server.Close)
	return server
}

// newClientOf returns an idle client of the server.
func newClientOf(t *testing.T, server *httptest.Server) *cachedClient {
	t.Helper()
	all, err := registry.Load()
	if err != nil {
		t.Fatal(err)
	}
	c, err := newCachedClient(all.Kinds()[0], connection{config: &rest.Config{Host: server.URL}, http: server.Client(), clock: clocktesting.NewFakeClock(time.Now())}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// The objects of an incomplete list are handled. Those that the next list lacks are enqueued
// once more, since they were deleted meanwhile.
func TestInitialListIsEnqueuedWhileStreaming(t *testing.T) {
	half := make(chan struct{})
	c := newClientOf(t, newInterruptedServer(t, half))
	q := newQueue(t)
	first := c.informers[""].initialList
	if err := first.start(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	expect.Eventually(t, expect.Long, func() error {
		if q.Len() != 2 {
			return fmt.Errorf("%d objects of half a list are handled, want 2", q.Len())
		}
		return nil
	})
	names(q)
	for _, name := range []string{"stays", "goes"} {
		if o, err := c.get(key(name)); err != nil || o == nil {
			t.Errorf("%s is not known while the list arrives: %v", name, err)
		}
	}
	close(half)
	expect.Eventually(t, expect.Long, func() error {
		o, err := c.get(key("goes"))
		if err == nil && o != nil {
			err = errors.New("an object that the whole list lacks is still known")
		}
		return err
	})
	if waiting := names(q); !waiting["goes"] {
		t.Errorf("an object that was deleted meanwhile is not enqueued: %v", waiting)
	}
	if o, err := c.get(key("stays")); err != nil || o == nil {
		t.Errorf("the object that stays is lost: %v", err)
	}
}

// The informer's own event of the same version is not a change; one of another version is.
func TestInitialListDropsInformerDuplicates(t *testing.T) {
	e, q := newInitialListBuffer(), newQueue(t)
	e.add(listed(t, "before", "u1", "7")) // before the controller runs
	if err := e.start(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	e.add(listed(t, "after", "u2", "8"))
	if waiting := names(q); !waiting["before"] || !waiting["after"] {
		t.Fatalf("waiting: %v", waiting)
	}
	passes := func(o *object.Object) bool { return e.notEnqueued().Create(event.CreateEvent{Object: o}) }
	if passes(listed(t, "before", "u1", "7")) {
		t.Error("the same version is handled twice")
	}
	if !passes(listed(t, "after", "u2", "9")) {
		t.Error("a newer version is dropped")
	}
	if !passes(listed(t, "before", "u1", "7")) {
		t.Error("an event after that is dropped as well")
	}
	if !passes(listed(t, "other", "u3", "1")) {
		t.Error("an object that never came early is dropped")
	}
}

// movingStore moves an object from the buffer to the informer during the first read.
type movingStore struct {
	cache.Store
	move func()
}

func (s *movingStore) GetByKey(key string) (any, bool, error) {
	item, found, err := s.Store.GetByKey(key)
	s.move()
	return item, found, err
}

type movingInformer struct {
	cache.SharedIndexInformer
	store *movingStore
}

func (i movingInformer) GetStore() cache.Store { return i.store }

// A reconcile that reads while the object moves from the buffer to the informer finds it. Otherwise the object would
// count as deleted, and no event would enqueue it again.
func TestInitialListObjectIsFoundWhileItMoves(t *testing.T) {
	e, o := newInitialListBuffer(), listed(t, "a", "u1", "7")
	if err := e.start(t.Context(), newQueue(t)); err != nil {
		t.Fatal(err)
	}
	e.add(o)
	store := &movingStore{Store: cache.NewStore(cache.MetaNamespaceKeyFunc)}
	store.move = sync.OnceFunc(func() {
		if err := store.Add(o); err != nil {
			t.Fatal(err)
		}
		if e.notEnqueued().Create(event.CreateEvent{Object: o}) {
			t.Error("the informer enqueues the object again")
		}
	})
	c := &cachedClient{informers: map[string]*informer{"": {SharedIndexInformer: movingInformer{store: store}, initialList: e}}}
	if got, err := c.get(key("a")); err != nil || got != o {
		t.Errorf("got %v, %v, want the object", got, err)
	}
}

// A standby holds no object twice, and its informer enqueues all objects once it is the leader.
func TestInitialListBufferIsDroppedOnStandby(t *testing.T) {
	e, q := newInitialListBuffer(), newQueue(t)
	o := listed(t, "churn", "u1", "7")
	e.add(o)
	e.markSynced(nil)
	if e.get(key("churn")) != nil {
		t.Error("the object is kept twice")
	}
	e.add(o)
	if err := e.start(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	if waiting := names(q); len(waiting) > 0 {
		t.Errorf("enqueued after the end: %v", waiting)
	}
	if !e.notEnqueued().Create(event.CreateEvent{Object: o}) {
		t.Error("the informer's event is dropped")
	}
}

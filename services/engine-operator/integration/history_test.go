package integration

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
)

// history records every version of the objects of some kinds in a namespace, so that a
// test can check invariants at every moment. Polling would miss moments.
type history struct {
	t     *testing.T
	api   client.WithWatch
	kinds []schema.GroupVersionKind
	in    client.InNamespace
	start uint64 // all later states of all kinds are recorded

	mu       sync.Mutex
	versions []version
	ended    bool
	watches  sync.WaitGroup
	stop     context.CancelFunc
}

// version is an object at one revision of the store, which is common to all kinds.
type version struct {
	revision uint64
	id       string
	object   *unstructured.Unstructured
	deleted  bool
}

// snapshot holds all recorded objects that exist at one revision.
type snapshot map[string]*unstructured.Unstructured

// of returns the objects of one kind, sorted by name.
func of[T any](m snapshot, kind string) []*T {
	var names []string
	for id, o := range m {
		if o.GetKind() == kind {
			names = append(names, id)
		}
	}
	slices.Sort(names)
	out := make([]*T, 0, len(names))
	for _, id := range names {
		o := new(T)
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(m[id].Object, o); err != nil {
			panic(err)
		}
		out = append(out, o)
	}
	return out
}

// record starts a history, which includes existing objects.
func (s *testEnv) record(kinds ...schema.GroupVersionKind) *history {
	s.t.Helper()
	api, err := client.NewWithWatch(cluster.Get(s.t).Config, client.Options{Scheme: scheme(s.t)})
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	h := &history{t: s.t, api: api, kinds: kinds, in: client.InNamespace(s.namespace), stop: stop}
	s.t.Cleanup(h.end)
	for _, kind := range kinds {
		list := h.list(kind)
		h.start = max(h.start, revision(s.t, list.GetResourceVersion()))
		for i := range list.Items {
			h.add(&list.Items[i], false)
		}
		changes, err := api.Watch(ctx, listOf(kind), h.in, &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: list.GetResourceVersion()}})
		if err != nil {
			s.t.Fatal(err)
		}
		h.watches.Add(1)
		go h.follow(changes)
	}
	return h
}

func (h *history) follow(changes watch.Interface) {
	defer h.watches.Done()
	for e := range changes.ResultChan() {
		o, ok := e.Object.(*unstructured.Unstructured)
		if ok && (e.Type == watch.Added || e.Type == watch.Modified || e.Type == watch.Deleted) {
			h.add(o, e.Type == watch.Deleted)
			continue
		}
		if h.recording() {
			h.t.Errorf("watch: %s %v", e.Type, e.Object)
		}
	}
	if h.recording() {
		h.t.Error("a watch ended before the test")
	}
}

func (h *history) recording() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return !h.ended
}

func (h *history) add(o *unstructured.Unstructured, deleted bool) {
	r := revision(h.t, o.GetResourceVersion())
	h.mu.Lock()
	defer h.mu.Unlock()
	h.versions = append(h.versions, version{revision: r, id: o.GetKind() + "/" + o.GetName(), object: o, deleted: deleted})
}

// end stops recording.
func (h *history) end() {
	h.mu.Lock()
	h.ended = true
	h.mu.Unlock()
	h.stop()
	h.watches.Wait()
}

// snapshots waits until everything that exists now was recorded, stops, and returns all
// states in order.
func (h *history) snapshots() []snapshot {
	h.t.Helper()
	for _, kind := range h.kinds {
		list := h.list(kind)
		expect.Eventually(h.t, expect.Long, func() error { return h.reached(kind, list) })
	}
	h.end()
	slices.SortStableFunc(h.versions, func(a, b version) int { return cmp.Compare(a.revision, b.revision) })
	now, out := snapshot{}, []snapshot{}
	for i, v := range h.versions {
		if now[v.id] = v.object; v.deleted {
			delete(now, v.id)
		}
		next := i + 1
		if next < len(h.versions) && (h.versions[next].revision == v.revision || h.versions[next].revision <= h.start) {
			continue
		}
		out = append(out, maps.Clone(now))
	}
	return out
}

// reached returns an error if an object of the list is not recorded yet, or if a recorded one was deleted.
func (h *history) reached(kind schema.GroupVersionKind, list *unstructured.UnstructuredList) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	last := map[string]version{}
	for _, v := range h.versions {
		if v.object.GetKind() == kind.Kind && v.revision >= last[v.id].revision {
			last[v.id] = v
		}
	}
	listed := map[string]bool{}
	for i := range list.Items {
		id := kind.Kind + "/" + list.Items[i].GetName()
		listed[id] = true
		if last[id].revision < revision(h.t, list.Items[i].GetResourceVersion()) {
			return fmt.Errorf("%s is recorded at %d, want %s", id, last[id].revision, list.Items[i].GetResourceVersion())
		}
	}
	for id, v := range last {
		if !v.deleted && !listed[id] && v.revision <= revision(h.t, list.GetResourceVersion()) {
			return fmt.Errorf("the deletion of %s is not recorded", id)
		}
	}
	return nil
}

// problems returns the distinct results of the check for all moments.
func (h *history) problems(check func(snapshot) string) []string {
	h.t.Helper()
	var out []string
	for _, m := range h.snapshots() {
		if p := check(m); p != "" && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}

func (h *history) list(kind schema.GroupVersionKind) *unstructured.UnstructuredList {
	h.t.Helper()
	list := listOf(kind)
	if err := h.api.List(context.Background(), list, h.in); err != nil {
		h.t.Fatal(err)
	}
	return list
}

func listOf(kind schema.GroupVersionKind) *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	return list
}

func revision(t testing.TB, resourceVersion string) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(resourceVersion, 10, 64)
	if err != nil {
		t.Errorf("resource version %q: %v", resourceVersion, err)
	}
	return n
}

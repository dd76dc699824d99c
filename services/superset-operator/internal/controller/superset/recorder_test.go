package superset_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
)

// history keeps every version of every object of a namespace. The API server's store has one revision counter for all
// kinds, so versions of different kinds can be ordered.
type history struct {
	t         testing.TB
	client    client.WithWatch
	namespace string
	mu        sync.Mutex
	versions  []version
	err       error
}

// version is the state of an object from a revision on.
type version struct {
	object   client.Object
	revision int64
	deleted  bool
}

func (h *history) consume(ctx context.Context, w watch.Interface) {
	defer w.Stop()
	for e := range w.ResultChan() {
		obj, ok := e.Object.(client.Object)
		h.mu.Lock()
		if !ok {
			h.err = fmt.Errorf("watch: %v", e.Object)
		} else {
			revision, err := strconv.ParseInt(obj.GetResourceVersion(), 10, 64)
			h.err = errors.Join(h.err, err)
			h.versions = append(h.versions, version{object: obj, revision: revision, deleted: e.Type == watch.Deleted})
		}
		h.mu.Unlock()
	}
	if ctx.Err() == nil {
		h.mu.Lock()
		h.err = errors.Join(h.err, errors.New("a watch ended early"))
		h.mu.Unlock()
	}
}

// catchUp waits until the history contains the current state of the API server.
func (h *history) catchUp() {
	h.t.Helper()
	expect.Eventually(h.t, timeout, func() error {
		for _, list := range recorded() {
			if err := h.client.List(h.t.Context(), list, client.InNamespace(h.namespace)); err != nil {
				return err
			}
			if err := h.contains(list); err != nil {
				return err
			}
		}
		return nil
	})
}

func (h *history) contains(list runtime.Object) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err != nil {
		h.t.Fatal(h.err)
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return err
	}
	for _, item := range items {
		obj, ok := item.(client.Object)
		if !ok {
			return fmt.Errorf("%T is not a client.Object", item)
		}
		seen := slices.ContainsFunc(h.versions, func(v version) bool {
			return v.object.GetUID() == obj.GetUID() && v.object.GetResourceVersion() == obj.GetResourceVersion()
		})
		if !seen {
			return fmt.Errorf("%T %s at revision %s is not recorded yet", obj, obj.GetName(), obj.GetResourceVersion())
		}
	}
	return nil
}

// revisionOf returns the revision at which the object was last read.
func revisionOf(obj client.Object) int64 {
	revision, err := strconv.ParseInt(obj.GetResourceVersion(), 10, 64)
	if err != nil {
		panic(err)
	}
	return revision
}

// versions returns the versions of an object, by its name, from a revision on, in order.
func versions[T client.Object](h *history, since int64, name string) []version {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []version
	for _, v := range h.versions {
		if _, ok := v.object.(T); ok && v.object.GetName() == name && v.revision >= since {
			out = append(out, v)
		}
	}
	return out
}

// firstRevision returns the revision of the first version that satisfies the check.
func firstRevision[T client.Object](h *history, since int64, name string, check func(T) bool) int64 {
	h.t.Helper()
	for _, v := range versions[T](h, since, name) {
		if obj, ok := v.object.(T); ok && !v.deleted && check(obj) {
			return v.revision
		}
	}
	var kind T
	h.t.Fatalf("no version of %T %s after revision %d satisfies the check", kind, name, since)
	return 0
}

// creationRevision returns the revision at which the next object of that name was created.
func creationRevision[T client.Object](h *history, since int64, name string) int64 {
	h.t.Helper()
	known := map[types.UID]bool{}
	for _, v := range versions[T](h, 0, name) {
		if v.revision > since && !known[v.object.GetUID()] {
			return v.revision
		}
		known[v.object.GetUID()] = true
	}
	var kind T
	h.t.Fatalf("no %T %s was created after revision %d", kind, name, since)
	return 0
}

// deletionRevision returns the revision at which the object's deletion began.
func deletionRevision[T client.Object](h *history, since int64, name string) int64 {
	h.t.Helper()
	for _, v := range versions[T](h, since, name) {
		if v.deleted || v.object.GetDeletionTimestamp() != nil {
			return v.revision
		}
	}
	var kind T
	h.t.Fatalf("%T %s was not deleted after revision %d", kind, name, since)
	return 0
}

// sequence returns the results of f for an object's versions, without repetitions and empty strings.
func sequence[T client.Object](h *history, since int64, name string, f func(T) string) []string {
	var out []string
	for _, v := range versions[T](h, since, name) {
		obj, ok := v.object.(T)
		if !ok || v.deleted {
			continue
		}
		if slug := f(obj); slug != "" && (len(out) == 0 || out[len(out)-1] != slug) {
			out = append(out, slug)
		}
	}
	return out
}

// podLifetime is the lifetime of a pod: from its creation until it terminated or was deleted.
type podLifetime struct {
	name, component, task, image string
	start, end, deleted          int64
}

// podLifetimes returns the lifetimes of all pods.
func (h *history) podLifetimes() []podLifetime {
	h.mu.Lock()
	defer h.mu.Unlock()
	order, byUID := []types.UID{}, map[types.UID]*podLifetime{}
	for _, v := range h.versions {
		pod, ok := v.object.(*corev1.Pod)
		if !ok {
			continue
		}
		l := byUID[pod.UID]
		if l == nil {
			l = &podLifetime{
				name: pod.Name, component: pod.Labels[v1alpha1.LabelComponent], task: pod.Labels[v1alpha1.LabelTask],
				image: pod.Spec.Containers[0].Image, start: v.revision, end: math.MaxInt64, deleted: math.MaxInt64,
			}
			byUID[pod.UID], order = l, append(order, pod.UID)
		}
		if terminated := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed; terminated || v.deleted {
			l.end = min(l.end, v.revision)
		}
		if v.deleted {
			l.deleted = v.revision
		}
	}
	out := make([]podLifetime, 0, len(order))
	for _, uid := range order {
		out = append(out, *byUID[uid])
	}
	return out
}

// tasks returns the task pods that were created after a revision, as "migrate apache/superset:6.0.0".
func (h *history) tasks(since int64) []string {
	var out []string
	for _, l := range h.podLifetimes() {
		if l.task != "" && l.start > since {
			out = append(out, l.task+" "+l.image)
		}
	}
	return out
}

// checkTasks checks the invariants of every scenario: no two task pods exist at the same time, and no pod of a
// component exists during a task that requires a drain.
func (h *history) checkTasks(drains ...string) {
	h.t.Helper()
	h.catchUp()
	lifetimes := h.podLifetimes()
	for _, task := range lifetimes {
		if task.task == "" {
			continue
		}
		for _, other := range lifetimes {
			overlaps := other.start <= task.end && task.start <= other.end && other.name != task.name
			switch {
			case !overlaps:
			case other.task != "" && other.name < task.name:
				h.t.Errorf("task pods %s and %s existed at the same time: %+v, %+v", task.name, other.name, task, other)
			case other.task == "" && other.component != "maintenance-page" && slices.Contains(drains, task.task):
				h.t.Errorf("pod %s and task pod %s existed at the same time: %+v, %+v", other.name, task.name, other, task)
			}
		}
	}
}

// checkAscending checks the order of the named revisions.
func checkAscending(t testing.TB, list ...namedRevision) {
	t.Helper()
	for i := 1; i < len(list); i++ {
		if list[i-1].revision > list[i].revision {
			t.Errorf("%s (revision %d) came before %s (%d)",
				list[i].name, list[i].revision, list[i-1].name, list[i-1].revision)
		}
	}
}

type namedRevision struct {
	name     string
	revision int64
}

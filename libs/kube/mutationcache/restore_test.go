package mutationcache_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	testingclock "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"

	"github.com/flotilla-dev/flotilla/libs/kube/mutationcache"
)

// model is one object in a cluster, a stale cache, and a controller that writes the desired
// state, is enqueued by the writes of other clients, and drops the events of its own writes.
type model struct {
	t         *rapid.T
	mutations *mutationcache.Cache[*corev1.ConfigMap]
	clock     *testingclock.FakePassiveClock
	stored    *corev1.ConfigMap
	backups   []*corev1.ConfigMap
	cached    *corev1.ConfigMap
	pending   []*corev1.ConfigMap // versions that the cache has not shown yet
	desired   string
	written   int    // the newest version that the controller wrote, unless the cluster was restored since
	own       string // the version that the controller wrote last
	observed  bool   // by the cache
	enqueued  bool
	due       time.Time // time of the requested requeue
}

func newModel(t *rapid.T) *model {
	w := &model{t: t, stored: version("1", "1"), desired: "1"}
	w.mutations, w.clock = newCache()
	w.cached = w.stored.DeepCopy()
	return w
}

func (w *model) store(value string) {
	w.backups = append(w.backups, w.stored.DeepCopy())
	w.stored = w.stored.DeepCopy()
	rv, _ := strconv.Atoi(w.stored.ResourceVersion)
	w.stored.ResourceVersion = strconv.Itoa(rv + 1)
	w.stored.Data["version"] = value
	w.pending = append(w.pending, w.stored.DeepCopy())
}

// restore puts an older version into the cluster; the cache lists again.
func (w *model) restore() {
	if len(w.backups) == 0 {
		return
	}
	i := rapid.IntRange(0, len(w.backups)-1).Draw(w.t, "backup")
	w.stored, w.backups = w.backups[i].DeepCopy(), w.backups[:i]
	w.pending = []*corev1.ConfigMap{w.stored.DeepCopy()}
	w.written = 0
}

// deliver delivers the next version to the cache, then to the controller's filter.
func (w *model) deliver() {
	if len(w.pending) == 0 {
		return
	}
	before := w.cached
	w.cached, w.pending = w.pending[0], w.pending[1:]
	w.observed = w.observed || w.cached.ResourceVersion == w.own
	if own := w.mutations.Observe(w.cached); !own && before.Data["version"] != w.cached.Data["version"] {
		w.enqueued = true
	}
}

func (w *model) schedule(after time.Duration) {
	if at := w.clock.Now().Add(after); after > 0 && (w.due.IsZero() || at.Before(w.due)) {
		w.due = at
	}
}

func (w *model) reconcile() {
	if !w.enqueued && (w.due.IsZero() || w.clock.Now().Before(w.due)) {
		return
	}
	w.enqueued, w.due = false, time.Time{}
	got := &corev1.ConfigMap{}
	requeueAfter, err := w.mutations.Read(context.Background(), &cache{object: w.cached}, key, got)
	if err != nil {
		w.t.Fatal(err)
	}
	if rv, _ := strconv.Atoi(got.ResourceVersion); rv < w.written && w.fresh() {
		w.t.Fatalf("read version %d, wrote version %d", rv, w.written)
	}
	if got.ResourceVersion == w.own && w.observed && w.cached.ResourceVersion != w.own {
		w.t.Fatalf("read version %s, from which the cache went back to %s", w.own, w.cached.ResourceVersion)
	}
	w.schedule(requeueAfter)
	switch {
	case got.Data["version"] == w.desired:
	case got.ResourceVersion != w.stored.ResourceVersion:
		w.mutations.Forget(key)
		w.written = 0 // another client wrote since
		w.schedule(time.Second)
	default:
		w.store(w.desired)
		w.written, _ = strconv.Atoi(w.stored.ResourceVersion)
		w.own, w.observed = w.stored.ResourceVersion, false
		w.schedule(w.mutations.Record(w.stored.DeepCopy()))
	}
}

// fresh reports whether every write is within the validity of the mutation cache.
func (w *model) fresh() bool { return w.clock.Since(epoch) < mutationcache.Validity }

// After a restore to any version, shown by the cache at any time, the controller reads its
// own writes and the cluster converges to the desired state.
func TestRestoredClusterConverges(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newModel(rt)
		rt.Repeat(map[string]func(*rapid.T){
			"want":      func(rt *rapid.T) { w.desired, w.enqueued = rapid.StringMatching("[a-c]").Draw(rt, "value"), true },
			"intrude":   func(rt *rapid.T) { w.store(rapid.StringMatching("[a-c]").Draw(rt, "value")) },
			"restore":   func(*rapid.T) { w.restore() },
			"show":      func(*rapid.T) { w.deliver() },
			"reconcile": func(*rapid.T) { w.reconcile() },
			"wait":      func(*rapid.T) { w.clock.SetTime(w.clock.Now().Add(time.Second)) },
		})
		for range 100 {
			for len(w.pending) > 0 {
				w.deliver()
			}
			if !w.enqueued && w.due.After(w.clock.Now()) {
				w.clock.SetTime(w.due)
			}
			w.reconcile()
		}
		if got := w.stored.Data["version"]; got != w.desired {
			rt.Fatalf("the cluster has %q, want %q", got, w.desired)
		}
	})
}

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

// world is one object in a cluster, a stale cache, and a controller that writes the desired
// state, is enqueued by the writes of other clients, and drops the events of its own writes.
type world struct {
	t       *rapid.T
	memory  *mutationcache.Cache[*corev1.ConfigMap]
	clock   *testingclock.FakePassiveClock
	stored  *corev1.ConfigMap
	backups []*corev1.ConfigMap
	cached  *corev1.ConfigMap
	pending []*corev1.ConfigMap // versions that the cache has not shown yet
	wanted  string
	written int    // the newest version that the controller wrote, unless the cluster was restored since
	own     string // the version that the controller wrote last
	seen    bool   // by the cache
	woken   bool
	due     time.Time // time of the requested requeue
}

func newWorld(t *rapid.T) *world {
	w := &world{t: t, stored: version("1", "1"), wanted: "1"}
	w.memory, w.clock = newMemory()
	w.cached = w.stored.DeepCopy()
	return w
}

func (w *world) store(value string) {
	w.backups = append(w.backups, w.stored.DeepCopy())
	w.stored = w.stored.DeepCopy()
	rv, _ := strconv.Atoi(w.stored.ResourceVersion)
	w.stored.ResourceVersion = strconv.Itoa(rv + 1)
	w.stored.Data["version"] = value
	w.pending = append(w.pending, w.stored.DeepCopy())
}

// restore puts an older version into the cluster; the cache lists again.
func (w *world) restore() {
	if len(w.backups) == 0 {
		return
	}
	i := rapid.IntRange(0, len(w.backups)-1).Draw(w.t, "backup")
	w.stored, w.backups = w.backups[i].DeepCopy(), w.backups[:i]
	w.pending = []*corev1.ConfigMap{w.stored.DeepCopy()}
	w.written = 0
}

// show delivers the next version to the cache, then to the controller's filter.
func (w *world) show() {
	if len(w.pending) == 0 {
		return
	}
	before := w.cached
	w.cached, w.pending = w.pending[0], w.pending[1:]
	w.seen = w.seen || w.cached.ResourceVersion == w.own
	if own := w.memory.Observe(w.cached); !own && before.Data["version"] != w.cached.Data["version"] {
		w.woken = true
	}
}

func (w *world) schedule(after time.Duration) {
	if at := w.clock.Now().Add(after); after > 0 && (w.due.IsZero() || at.Before(w.due)) {
		w.due = at
	}
}

func (w *world) reconcile() {
	if !w.woken && (w.due.IsZero() || w.clock.Now().Before(w.due)) {
		return
	}
	w.woken, w.due = false, time.Time{}
	got := &corev1.ConfigMap{}
	again, err := w.memory.Read(context.Background(), &cache{object: w.cached}, key, got)
	if err != nil {
		w.t.Fatal(err)
	}
	if rv, _ := strconv.Atoi(got.ResourceVersion); rv < w.written && w.fresh() {
		w.t.Fatalf("read version %d, wrote version %d", rv, w.written)
	}
	if got.ResourceVersion == w.own && w.seen && w.cached.ResourceVersion != w.own {
		w.t.Fatalf("read version %s, from which the cache went back to %s", w.own, w.cached.ResourceVersion)
	}
	w.schedule(again)
	switch {
	case got.Data["version"] == w.wanted:
	case got.ResourceVersion != w.stored.ResourceVersion:
		w.memory.Forget(key)
		w.written = 0 // another client wrote since
		w.schedule(time.Second)
	default:
		w.store(w.wanted)
		w.written, _ = strconv.Atoi(w.stored.ResourceVersion)
		w.own, w.seen = w.stored.ResourceVersion, false
		w.schedule(w.memory.Record(w.stored.DeepCopy()))
	}
}

// fresh reports whether every write is within the validity of the mutation cache.
func (w *world) fresh() bool { return w.clock.Since(epoch) < mutationcache.Validity }

// After a restore to any version, shown by the cache at any time, the controller reads its
// own writes and the cluster converges to the desired state.
func TestRestoredClusterConverges(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(rt)
		rt.Repeat(map[string]func(*rapid.T){
			"want":      func(rt *rapid.T) { w.wanted, w.woken = rapid.StringMatching("[a-c]").Draw(rt, "value"), true },
			"intrude":   func(rt *rapid.T) { w.store(rapid.StringMatching("[a-c]").Draw(rt, "value")) },
			"restore":   func(*rapid.T) { w.restore() },
			"show":      func(*rapid.T) { w.show() },
			"reconcile": func(*rapid.T) { w.reconcile() },
			"wait":      func(*rapid.T) { w.clock.SetTime(w.clock.Now().Add(time.Second)) },
		})
		for range 100 {
			for len(w.pending) > 0 {
				w.show()
			}
			if !w.woken && w.due.After(w.clock.Now()) {
				w.clock.SetTime(w.due)
			}
			w.reconcile()
		}
		if got := w.stored.Data["version"]; got != w.wanted {
			rt.Fatalf("the cluster has %q, want %q", got, w.wanted)
		}
	})
}

//go:build long

package faults

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"

	"github.com/flotilla-dev/flotilla/services/ingester/api"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
)

// keepRunning restarts the ingester whenever it exits, as a kubelet does, until stop is called.
func (s *env) keepRunning(arguments ...string) (stop func()) {
	s.Helper()
	stopCh := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		for {
			i := s.launch(arguments...)
			select {
			case <-i.exited:
			case <-stopCh:
				i.kill()
				return
			}
			select {
			case <-time.After(time.Second): // a kubelet waits longer
			case <-stopCh:
				return
			}
		}
	})
	var once sync.Once
	stop = func() {
		once.Do(func() { close(stopCh) })
		running.Wait()
	}
	s.Cleanup(stop)
	return stop
}

// testObjects are objects that are created, updated, deleted or evicted before or after a backup.
type testObjects struct {
	*env
	kept, updated, deleted, evicted, createdLater []*unstructured.Unstructured
}

const perGroup = 20

func (s *env) newTestObjects(prefix string) *testObjects {
	s.Helper()
	h := &testObjects{env: s}
	for i := range perGroup {
		h.kept = append(h.kept, h.create(fmt.Sprintf("%s-kept-%d", prefix, i)))
		h.updated = append(h.updated, h.create(fmt.Sprintf("%s-updated-%d", prefix, i)))
		h.deleted = append(h.deleted, h.create(fmt.Sprintf("%s-deleted-%d", prefix, i)))
		h.evicted = append(h.evicted, h.create(fmt.Sprintf("%s-evicted-%d", prefix, i)))
	}
	s.agree()
	return h
}

func (s *env) create(name string) *unstructured.Unstructured {
	s.Helper()
	o := s.object(kinds[0], name)
	if err := s.client.Create(s.Context(), o); err != nil {
		s.Fatal(err)
	}
	return o
}

func (s *env) change(o *unstructured.Unstructured, patch string) {
	s.Helper()
	if err := s.client.Patch(s.Context(), o.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		s.Fatal(err)
	}
}

// changeAfterBackup makes changes that the backup does not contain.
func (h *testObjects) changeAfterBackup(prefix string) {
	h.Helper()
	for i := range perGroup {
		h.change(h.updated[i], `{"spec":{"algorithm":"lost"}}`)
		if err := h.client.Delete(h.Context(), h.deleted[i].DeepCopy()); err != nil {
			h.Fatal(err)
		}
		h.change(h.evicted[i], fmt.Sprintf(`{"metadata":{"annotations":{%q:"true"}}}`, api.ImmutableAnnotation))
		h.createdLater = append(h.createdLater, h.create(fmt.Sprintf("%s-late-%d", prefix, i)))
	}
	h.agree()
	h.states("live,live,closed,evicted,live", "lost")
}

// states waits until the rows of the objects have the given states, and the updated ones the given algorithm.
func (h *testObjects) states(want, algorithm string) {
	h.Helper()
	groups := [][]*unstructured.Unstructured{h.kept, h.updated, h.deleted, h.evicted, h.createdLater}
	expect.Eventually(h, recovery, func() error {
		var got []string
		for _, group := range groups {
			var uids []any
			for _, o := range group {
				uids = append(uids, string(o.GetUID()))
			}
			states := dbtest.Strings(h, h.db, "SELECT DISTINCT IF(delete_time IS NOT NULL, 'closed', IF(evict_time IS NOT NULL, 'evicted', 'live'))"+
				" FROM model WHERE uid IN ("+strings.TrimSuffix(strings.Repeat("?,", len(uids)), ",")+")", uids...)
			got = append(got, strings.Join(states, "+"))
		}
		if text := strings.Join(got, ","); text != want {
			return fmt.Errorf("kept, updated, deleted, evicted, late: %s, want %s", text, want)
		}
		uid := string(h.updated[0].GetUID())
		if has := dbtest.Strings(h, h.db, "SELECT algorithm FROM model WHERE uid = ?", uid); !slices.Equal(has, []string{algorithm}) {
			return fmt.Errorf("algorithm %v, want %s", has, algorithm)
		}
		return nil
	})
}

// back checks that MySQL matches the restored cluster, and later changes.
func (h *testObjects) back() {
	h.Helper()
	h.states("live,live,live,live,closed", "xgboost")
	for _, group := range [][]*unstructured.Unstructured{h.kept, h.updated, h.deleted, h.evicted} {
		h.change(group[0], `{"spec":{"algorithm":"later"}}`)
	}
	h.states("live,live,live,live,closed", "later")
	h.agree()
}

// version returns the current resource version of the cluster.
func (s *env) version() int64 {
	s.Helper()
	var list corev1.NamespaceList
	if err := s.client.List(s.Context(), &list); err != nil {
		s.Fatal(err)
	}
	n, err := strconv.ParseInt(list.ResourceVersion, 10, 64)
	if err != nil {
		s.Fatal(err)
	}
	return n
}

// advance increases the resource version by changes of other objects.
func (s *env) advance(to int64) {
	s.Helper()
	clock := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "clock", Namespace: s.namespace}}
	if err := client.IgnoreAlreadyExists(s.client.Create(s.Context(), clock)); err != nil {
		s.Fatal(err)
	}
	for i := 0; s.version() < to; i++ {
		for range 50 {
			if err := s.client.Patch(s.Context(), clock, client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"data":{"i":"%d"}}`, i))); err != nil {
				s.Fatal(err)
			}
			i++
		}
	}
}

// TestClusterRestored restores a backup while the ingester runs, and again while the ingester is down and the cluster
// exceeds its old version before the ingester starts.
func TestClusterRestored(t *testing.T) {
	for _, vendor := range vendors() {
		t.Run(string(vendor), func(t *testing.T) {
			c := cluster.Private(t, options)
			s := newEnv(t, c, vendor)
			restored(s)
		})
	}
}

const sweepOften = "--sweep-interval=5s"

func restored(s *env) {
	stop := s.keepRunning(sweepOften)
	h := s.newTestObjects("first")
	backup := s.cluster.Save(s)
	h.changeAfterBackup("first")
	s.advance(s.version() + 2000) // more than a control plane writes while it starts
	s.cluster.Restore(s, backup)
	h.back()

	h = s.newTestObjects("second")
	backup = s.cluster.Save(s)
	h.changeAfterBackup("second")
	old := s.version()
	stop()
	s.cluster.Restore(s, backup)
	s.advance(old + 100)
	s.keepRunning(sweepOften)
	h.back()
}

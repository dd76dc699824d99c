package mutationcache_test

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/kube/mutationcache"
)

func version(uid types.UID, resourceVersion string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "a", UID: uid, ResourceVersion: resourceVersion},
		Data:       map[string]string{"version": resourceVersion},
	}
}

// cache has one object, or none.
type cache struct {
	client.Reader
	object *corev1.ConfigMap
}

func (c *cache) Get(_ context.Context, _ client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	c.object.DeepCopyInto(obj.(*corev1.ConfigMap))
	return nil
}

var key = client.ObjectKey{Namespace: "n", Name: "a"}

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func newCache() (*mutationcache.Cache[*corev1.ConfigMap], *testingclock.FakePassiveClock) {
	clk := testingclock.NewFakePassiveClock(epoch)
	return mutationcache.New[*corev1.ConfigMap](clk), clk
}

func read(t *testing.T, m *mutationcache.Cache[*corev1.ConfigMap], cached *corev1.ConfigMap) (*corev1.ConfigMap, time.Duration) {
	t.Helper()
	got := &corev1.ConfigMap{}
	requeueAfter, err := m.Read(t.Context(), &cache{object: cached}, key, got)
	if err != nil {
		t.Fatal(err)
	}
	return got, requeueAfter
}

func TestReadReturnsLatestOfCacheAndOwnWrite(t *testing.T) {
	for name, tc := range map[string]struct {
		written, cached, want *corev1.ConfigMap
	}{
		"no write":                         {nil, version("1", "5"), version("1", "5")},
		"a stale cache":                    {version("1", "10"), version("1", "9"), version("1", "10")},
		"a cache with the write":           {version("1", "10"), version("1", "10"), version("1", "10")},
		"a later write of another client":  {version("1", "10"), version("1", "11"), version("1", "11")},
		"another object of the same name":  {version("1", "10"), version("2", "9"), version("2", "9")},
		"versions that are not comparable": {version("1", "x"), version("1", "9"), version("1", "9")},
	} {
		t.Run(name, func(t *testing.T) {
			m, _ := newCache()
			if tc.written != nil {
				m.Record(tc.written)
			}
			got, requeueAfter := read(t, m, tc.cached)
			if got.UID != tc.want.UID || got.Data["version"] != tc.want.Data["version"] {
				t.Errorf("got %s of %s, want %s of %s", got.ResourceVersion, got.UID, tc.want.ResourceVersion, tc.want.UID)
			}
			if ownWrite := got.ResourceVersion != tc.cached.ResourceVersion; ownWrite != (requeueAfter > 0) {
				t.Errorf("read again after %s", requeueAfter)
			}
		})
	}
}

// A cluster that is restored from a backup shows older versions of the same objects.
func TestReadReturnsRestoredObject(t *testing.T) {
	for name, invalidate := range map[string]func(*mutationcache.Cache[*corev1.ConfigMap], *testingclock.FakePassiveClock){
		"after a conflict": func(m *mutationcache.Cache[*corev1.ConfigMap], _ *testingclock.FakePassiveClock) {
			m.Forget(key)
		},
		"after the cache has shown the write": func(m *mutationcache.Cache[*corev1.ConfigMap], _ *testingclock.FakePassiveClock) {
			m.Observe(version("1", "10"))
		},
		"when the cache never shows the write": func(_ *mutationcache.Cache[*corev1.ConfigMap], clk *testingclock.FakePassiveClock) {
			clk.SetTime(epoch.Add(mutationcache.Validity))
		},
	} {
		t.Run(name, func(t *testing.T) {
			m, clk := newCache()
			if requeueAfter := m.Record(version("1", "10")); requeueAfter != mutationcache.Validity {
				t.Errorf("read again after %s, want %s", requeueAfter, mutationcache.Validity)
			}
			invalidate(m, clk)
			if got, requeueAfter := read(t, m, version("1", "9")); got.ResourceVersion != "9" || requeueAfter != 0 {
				t.Errorf("got %s, again after %s", got.ResourceVersion, requeueAfter)
			}
		})
	}
}

// After the informer cache has shown a newer version, the mutation cache does not return an older one.
func TestReadForgetsOvertakenWrite(t *testing.T) {
	m, _ := newCache()
	m.Record(version("1", "10"))
	read(t, m, version("1", "11"))
	if got, _ := read(t, m, version("1", "9")); got.ResourceVersion != "9" {
		t.Errorf("got %s", got.ResourceVersion)
	}
}

func TestObserveReportsOwnWrite(t *testing.T) {
	m, _ := newCache()
	m.Record(version("1", "10"))
	if m.Observe(version("1", "9")) || m.Observe(version("1", "11")) || m.Observe(version("2", "10")) {
		t.Error("another version is recognized as an own write")
	}
	if !m.Observe(version("1", "10")) {
		t.Error("the own write is not recognized")
	}
	read(t, m, version("1", "10"))
	if !m.Observe(version("1", "10")) {
		t.Error("a read before the event drops the own write")
	}
	m.Forget(key)
	if m.Observe(version("1", "10")) {
		t.Error("the write was not dropped")
	}
}

// A later change of a written or read object does not change the remembered one.
func TestReadReturnsCopy(t *testing.T) {
	m, _ := newCache()
	written := version("1", "10")
	m.Record(written)
	written.Data["version"] = "changed"
	got, _ := read(t, m, version("1", "9"))
	got.Data["version"] = "changed"
	if got, _ := read(t, m, version("1", "9")); got.Data["version"] != "10" {
		t.Errorf("got %s", got.Data["version"])
	}
}

// rejecting is an API server that rejects every write.
type rejecting struct{ client.Client }

var errRejected = errors.New("refused")

func (rejecting) Patch(context.Context, client.Object, client.Patch, ...client.PatchOption) error {
	return errRejected
}

func TestFailedPatchKeepsObject(t *testing.T) {
	obj := version("1", "10")
	err := mutationcache.Patch(t.Context(), rejecting{}, obj, func(c *corev1.ConfigMap) {
		c.Data["version"] = "changed"
		c.Finalizers = []string{"example.com/f"}
	})
	if !errors.Is(err, errRejected) || obj.Data["version"] != "10" || len(obj.Finalizers) != 0 {
		t.Errorf("%v: %+v", err, obj)
	}
}

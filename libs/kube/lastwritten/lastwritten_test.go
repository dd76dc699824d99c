package lastwritten_test

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/kube/lastwritten"
)

func version(uid types.UID, resourceVersion string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "a", UID: uid, ResourceVersion: resourceVersion},
		Data:       map[string]string{"version": resourceVersion},
	}
}

func TestTheNewestOfCacheAndOwnWrite(t *testing.T) {
	for name, tc := range map[string]struct {
		written, cached, want *corev1.ConfigMap
	}{
		"nothing was written":              {nil, version("1", "5"), version("1", "5")},
		"the cache lags":                   {version("1", "10"), version("1", "9"), version("1", "10")},
		"the cache has it":                 {version("1", "10"), version("1", "10"), version("1", "10")},
		"somebody wrote since":             {version("1", "10"), version("1", "11"), version("1", "11")},
		"another object bears the name":    {version("1", "10"), version("2", "9"), version("2", "9")},
		"versions that cannot be compared": {version("1", "x"), version("1", "9"), version("1", "9")},
	} {
		t.Run(name, func(t *testing.T) {
			m := lastwritten.New[*corev1.ConfigMap]()
			if tc.written != nil {
				m.Remember(tc.written)
			}
			got := m.Newest(tc.cached)
			if got.UID != tc.want.UID || got.Data["version"] != tc.want.Data["version"] {
				t.Errorf("got %s of %s, want %s of %s", got.ResourceVersion, got.UID, tc.want.ResourceVersion, tc.want.UID)
			}
		})
	}
}

// Once the cache was ahead, nothing older comes back from the memory.
func TestWhatWasOvertakenIsForgotten(t *testing.T) {
	m := lastwritten.New[*corev1.ConfigMap]()
	m.Remember(version("1", "10"))
	m.Newest(version("1", "11"))
	if got := m.Newest(version("1", "9")); got.ResourceVersion != "9" {
		t.Errorf("got %s", got.ResourceVersion)
	}
}

func TestWrote(t *testing.T) {
	m := lastwritten.New[*corev1.ConfigMap]()
	m.Remember(version("1", "10"))
	if !m.Wrote(version("1", "10")) || m.Wrote(version("1", "11")) {
		t.Error("it does not know its own write")
	}
	m.Forget(client.ObjectKeyFromObject(version("1", "10")))
	if m.Wrote(version("1", "10")) || m.Newest(version("1", "9")).ResourceVersion != "9" {
		t.Error("it was not forgotten")
	}
}

// Neither who wrote it nor who reads it can change what is remembered.
func TestWhatIsRememberedIsACopy(t *testing.T) {
	m := lastwritten.New[*corev1.ConfigMap]()
	written := version("1", "10")
	m.Remember(written)
	written.Data["version"] = "changed"
	m.Newest(version("1", "9")).Data["version"] = "changed"
	if got := m.Newest(version("1", "9")).Data["version"]; got != "10" {
		t.Errorf("got %s", got)
	}
}

// refusing is an API server that takes nothing.
type refusing struct{ client.Client }

var errRefused = errors.New("refused")

func (refusing) Patch(context.Context, client.Object, client.Patch, ...client.PatchOption) error {
	return errRefused
}

func TestAnEditThatFailsLeavesTheObjectAsItWas(t *testing.T) {
	obj := version("1", "10")
	err := lastwritten.Edit(t.Context(), refusing{}, obj, func(c *corev1.ConfigMap) {
		c.Data["version"] = "changed"
		c.Finalizers = []string{"example.com/f"}
	})
	if !errors.Is(err, errRefused) || obj.Data["version"] != "10" || len(obj.Finalizers) != 0 {
		t.Errorf("%v: %+v", err, obj)
	}
}

package apply_test

import (
	"context"
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/kube/apply"
	"github.com/flotilla-dev/flotilla/libs/kube/internal/apitest"
)

// digestData returns an object as a cache with DigestData has it: informers transform some objects twice.
func digestData(t testing.TB, obj client.Object) client.Object {
	t.Helper()
	out := any(obj.DeepCopyObject())
	for range 2 {
		var err error
		if out, err = apply.DigestData(out); err != nil {
			t.Fatal(err)
		}
	}
	return out.(client.Object)
}

func TestDigestDataKeepsNoValue(t *testing.T) {
	c := configMap("n", map[string]string{"a": "a long file", "b": ""})
	got := digestData(t, c).(*corev1.ConfigMap)
	if got.Data["a"] == "a long file" || got.Data["b"] == "" || got.Data["a"] == got.Data["b"] {
		t.Errorf("data is %v", got.Data)
	}
}

// The mark of digested data cannot be forged.
func TestAPIServerRejectsMarkOfDigestedData(t *testing.T) {
	c := apitest.New(t)
	marked := digestData(t, configMap(apitest.Namespace(t), map[string]string{"a": "1"}))
	if err := c.Create(t.Context(), marked); !apierrors.IsInvalid(err) {
		t.Errorf("creation returned %v, want Invalid", err)
	}
}

// A value that is the digest of the desired one is as wrong as any other.
func TestApplyRepairsForgedDigest(t *testing.T) {
	c := apitest.New(t)
	ns := apitest.Namespace(t)
	owner := apitest.Owner(t, c, ns, "owner")
	desired := func() *corev1.ConfigMap { return configMap(ns, map[string]string{"a": "1"}) }
	for name, cached := range map[string]bool{"in the cache": true, "not in the cache": false} {
		t.Run(name, func(t *testing.T) {
			mustApply(t, apply.New(c, manager), apply.Created, owner, desired(), nil)
			defer func() {
				if err := c.Delete(t.Context(), desired()); err != nil {
					t.Error(err)
				}
			}()
			forged := apitest.Read(t, c, configMap(ns, nil))
			forged.Data = map[string]string{"a": digestData(t, desired()).(*corev1.ConfigMap).Data["a"]}
			if err := c.Update(t.Context(), forged, client.FieldOwner(manager)); err != nil {
				t.Fatal(err)
			}
			var existing client.Object
			if cached {
				existing = digestData(t, forged)
			}
			mustApply(t, apply.New(c, manager), apply.Updated, owner, desired(), existing)
			if got := apitest.Read(t, c, configMap(ns, nil)); got.Data["a"] != "1" {
				t.Errorf("data is %v", got.Data)
			}
		})
	}
}

// mutating changes a value of each ConfigMap, as a mutating webhook does.
type mutating struct {
	client.Client

	applies int
}

func (m *mutating) Apply(ctx context.Context, config runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	m.applies++
	raw, err := json.Marshal(config)
	if err != nil {
		return err
	}
	u := &unstructured.Unstructured{}
	if err := json.Unmarshal(raw, &u.Object); err != nil {
		return err
	}
	if err := unstructured.SetNestedField(u.Object, "mutated", "data", "a"); err != nil {
		return err
	}
	if err := m.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), opts...); err != nil {
		return err
	}
	if raw, err = json.Marshal(u); err != nil {
		return err
	}
	return json.Unmarshal(raw, config)
}

func TestMutatedDataIsNoDrift(t *testing.T) {
	api := apitest.New(t)
	ns := apitest.Namespace(t)
	owner := apitest.Owner(t, api, ns, "owner")
	for name, digested := range map[string]bool{"full": false, "digested": true} {
		t.Run(name, func(t *testing.T) {
			c := &mutating{Client: api}
			a := apply.New(c, manager)
			mustApply(t, a, apply.Created, owner, configMap(ns, map[string]string{"a": "1"}), nil)
			var existing client.Object = apitest.Read(t, api, configMap(ns, nil))
			if got := existing.(*corev1.ConfigMap).Data["a"]; got != "mutated" {
				t.Fatalf("a is %q", got)
			}
			if digested {
				existing = digestData(t, existing)
			}
			mustApply(t, a, apply.Unchanged, owner, configMap(ns, map[string]string{"a": "1"}), existing)
			if c.applies != 1 {
				t.Errorf("%d applies, want 1", c.applies)
			}
			if err := api.Delete(t.Context(), configMap(ns, nil)); err != nil {
				t.Fatal(err)
			}
		})
	}
}

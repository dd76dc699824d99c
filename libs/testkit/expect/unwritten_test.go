package expect_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
)

func foreignConfigMap() *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "b", UID: "1", Labels: map[string]string{"whose": "another"}},
		Data:       map[string]string{"k": "v"},
	}
}

func patch(content string) func(context.Context, client.Client, client.Object) error {
	return func(ctx context.Context, c client.Client, obj client.Object) error {
		return c.Patch(ctx, obj, client.RawPatch(types.MergePatchType, []byte(content)), client.FieldOwner("operator"))
	}
}

// TestUnwrittenReportsEachWrite checks writes that change no generation: a ConfigMap has none.
func TestUnwrittenReportsEachWrite(t *testing.T) {
	for name, tc := range map[string]struct {
		write func(context.Context, client.Client, client.Object) error
		want  string
	}{
		"nothing":          {func(context.Context, client.Client, client.Object) error { return nil }, ""},
		"the same content": {patch(`{"data":{"k":"v"}}`), ""},
		"a changed value":  {patch(`{"data":{"k":"w"}}`), "operator Update"},
		"a removed label":  {patch(`{"metadata":{"labels":null}}`), "another"},
		"a finalizer":      {patch(`{"metadata":{"finalizers":["x/y"]}}`), "x/y"},
		"ownership of a field that keeps its value": {func(ctx context.Context, c client.Client, _ client.Object) error {
			u := &unstructured.Unstructured{Object: map[string]any{"data": map[string]any{"k": "v"}}}
			u.SetAPIVersion("v1")
			u.SetKind("ConfigMap")
			u.SetNamespace("a")
			u.SetName("b")
			return c.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner("operator"), client.ForceOwnership)
		}, "operator Apply"},
		"a deletion": {func(ctx context.Context, c client.Client, obj client.Object) error { return c.Delete(ctx, obj) }, "not found"},
		"a replacement": {func(ctx context.Context, c client.Client, obj client.Object) error {
			if err := c.Delete(ctx, obj); err != nil {
				return err
			}
			again := foreignConfigMap()
			again.UID = "2"
			return c.Create(ctx, again)
		}, `"2"`},
	} {
		t.Run(name, func(t *testing.T) {
			c := fake.NewClientBuilder().WithReturnManagedFields().Build()
			before := foreignConfigMap()
			if err := c.Create(t.Context(), before); err != nil {
				t.Fatal(err)
			}
			if err := tc.write(t.Context(), c, before.DeepCopy()); err != nil {
				t.Fatal(err)
			}
			message := outcome(t, func(tb testing.TB) { tb.Helper(); expect.Unwritten(tb, c, before) })
			if (message == "") != (tc.want == "") || !strings.Contains(message, tc.want) {
				t.Errorf("got %q, want %q in it", message, tc.want)
			}
		})
	}
}

func TestUnwrittenIgnoresStatusOfControlPlane(t *testing.T) {
	c := fake.NewClientBuilder().WithReturnManagedFields().WithStatusSubresource(&appsv1.Deployment{}).Build()
	before := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "b"}}
	if err := c.Create(t.Context(), before); err != nil {
		t.Fatal(err)
	}
	for i, tc := range []struct{ manager, want string }{
		{"kube-controller-manager", ""}, {"operator", "operator Update apps/v1"},
	} {
		live := before.DeepCopy()
		write := fmt.Sprintf(`{"status":{"replicas":%d},"metadata":{"annotations":{"deployment.kubernetes.io/revision":"%d"}}}`, i+1, i+1)
		if err := c.Status().Patch(t.Context(), live, client.RawPatch(types.MergePatchType, []byte(write)), client.FieldOwner(tc.manager)); err != nil {
			t.Fatal(err)
		}
		message := outcome(t, func(tb testing.TB) { tb.Helper(); expect.Unwritten(tb, c, before) })
		if (message == "") != (tc.want == "") || !strings.Contains(message, tc.want) {
			t.Errorf("after a write of %s: %q, want %q in it", tc.manager, message, tc.want)
		}
	}
}

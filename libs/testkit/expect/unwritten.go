package expect

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// controlPlane lists the field managers that write the status of objects of any owner.
var controlPlane = []string{"kube-controller-manager", "kube-scheduler", "kwok-controller"}

// revisionAnnotation is what the Deployment controller writes outside the status.
const revisionAnnotation = "deployment.kubernetes.io/revision"

// Unwritten checks that only the control plane has written an object since before was read or created: it
// still exists, with the same content and the same field managers. metadata.generation is not enough, since Services,
// ConfigMaps and other kinds have none, and a change of labels or owners leaves it. A failed check does not end the
// test, so that several objects can be checked.
func Unwritten(t testing.TB, c client.Reader, before client.Object) {
	t.Helper()
	key := client.ObjectKeyFromObject(before)
	after, err := empty(before)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Get(t.Context(), key, after); err != nil {
		t.Errorf("read %T %q: %v", before, key, err)
		return
	}
	if before.GetUID() == after.GetUID() && before.GetResourceVersion() == after.GetResourceVersion() {
		return
	}
	was, err := written(before)
	if err != nil {
		t.Fatalf("%T %q: %v", before, key, err)
	}
	is, err := written(after)
	if err != nil {
		t.Fatalf("%T %q: %v", after, key, err)
	}
	if diff := cmp.Diff(was, is); diff != "" {
		t.Errorf("%T %q was written (-before +after):\n%s", before, key, diff)
	}
}

// empty returns an object of the same kind without content: decoding into a filled one keeps deleted map entries.
func empty(obj client.Object) (client.Object, error) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		out := &unstructured.Unstructured{}
		out.SetGroupVersionKind(u.GroupVersionKind())
		return out, nil
	}
	out, ok := reflect.TypeAssert[client.Object](reflect.New(reflect.TypeOf(obj).Elem()))
	if !ok {
		return nil, fmt.Errorf("%T is not a pointer to an object", obj)
	}
	return out, nil
}

// written returns the content of an object and its field managers, without what the control plane writes. It keeps the
// fields of each manager: an update that only removes a field leaves no entry of its own.
func written(obj client.Object) (map[string]any, error) {
	obj, ok := obj.DeepCopyObject().(client.Object)
	if !ok {
		return nil, fmt.Errorf("copy %T: not an object", obj)
	}
	managers := map[string]any{}
	for _, f := range obj.GetManagedFields() {
		if slices.Contains(controlPlane, f.Manager) {
			continue
		}
		managers[fmt.Sprintf("%s %s %s%s", f.Manager, f.Operation, f.APIVersion, subresource(f))] = f.FieldsV1.GetRawString()
	}
	obj.SetManagedFields(nil)
	obj.SetResourceVersion("")
	annotations := obj.GetAnnotations()
	delete(annotations, revisionAnnotation)
	if len(annotations) == 0 {
		annotations = nil
	}
	obj.SetAnnotations(annotations)
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil, fmt.Errorf("read the content: %w", err)
	}
	for _, name := range []string{"apiVersion", "kind", "status"} { // typed clients drop the first two
		delete(content, name)
	}
	return map[string]any{"content": content, "managers": managers}, nil
}

func subresource(f metav1.ManagedFieldsEntry) string {
	if f.Subresource == "" {
		return ""
	}
	return " of " + f.Subresource
}

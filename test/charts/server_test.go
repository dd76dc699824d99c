package charts

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
)

// A real API server accepts all objects of all cases, including those of hooks, and rejects
// unknown fields.
func TestAPIServerAcceptsChartObjects(t *testing.T) {
	c := cluster.Get(t).Client(t, scheme.Scheme)
	for _, name := range []string{system, "team-a", "team-b", "status"} {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if err := client.IgnoreAlreadyExists(c.Create(t.Context(), ns)); err != nil {
			t.Fatal(err)
		}
	}
	each(t, func(t *testing.T, service, _, values string) {
		t.Helper()
		for _, doc := range documents(t, render(t, service, "--values", values)) {
			err := c.Create(t.Context(), doc, client.DryRunAll, client.FieldValidation(metav1.FieldValidationStrict))
			if err != nil {
				t.Errorf("%s %s: %v", doc.GetKind(), doc.GetName(), err)
			}
		}
	})
}

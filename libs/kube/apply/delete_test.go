package apply_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/libs/kube/apply"
	"github.com/flotilla-dev/flotilla/libs/kube/internal/apitest"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
)

func TestDeleteRequiresObservedObject(t *testing.T) {
	c := apitest.New(t)
	ns := apitest.Namespace(t)
	owner := apitest.Owner(t, c, ns, "owner")
	a := apply.New(c, manager)
	mustApply(t, a, apply.Created, owner, configMap(ns, nil), nil)
	first := apitest.Read(t, c, configMap(ns, nil))
	for range 2 { // the second Delete finds no object
		if err := a.Delete(t.Context(), first, apply.WithPropagation(metav1.DeletePropagationForeground)); err != nil {
			t.Fatal(err)
		}
	}
	expect.Deleted(t, c, configMap(ns, nil)) // the garbage collector finishes a foreground deletion
	apitest.Create(t, c, configMap(ns, nil))
	if err := a.Delete(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	apitest.Read(t, c, configMap(ns, nil))
}

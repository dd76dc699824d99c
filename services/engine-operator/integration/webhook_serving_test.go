package integration

import (
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
)

func TestCreateResponseContainsInstanceID(t *testing.T) {
	t.Parallel()
	a := serveWebhooks(t, nil)
	create := func(manifest string) (string, error) {
		u := parse(t, manifest)
		u.SetNamespace(a.namespace)
		err := a.api.Create(t.Context(), u)
		spec, _ := u.Object["spec"].(map[string]any)
		id, _ := spec["id"].(string)
		return id, err
	}
	if id, err := create(instanceYAML("i", "{metadata: {}, gateway: {}}")); err != nil || id != newID {
		t.Errorf("id %q, %v", id, err)
	}
	if id, err := create(instanceYAML("j", "{id: mine, metadata: {}, gateway: {}}")); err != nil || id != "mine" {
		t.Errorf("a given id became %q, %v", id, err)
	}
	_, err := create(instanceYAML("k", "{metadata: {}}"))
	checkError(t, err, "spec.gateway", "Required")
}

func TestStoppedOperatorBlocksEnginesNotInstances(t *testing.T) {
	t.Parallel()
	a := serveWebhooks(t, nil)
	if err := a.apply(engineYAML("e", "{instanceRef: i, replicas: 1}")); err != nil {
		t.Fatal(err)
	}
	a.stopAndWait()
	checkError(t, a.tryCreate("f", "{instanceRef: i, replicas: 1}"), `failed calling webhook "fireboltengine.compute.firebolt.io"`, "connection refused")

	// The controller sets the id; but the webhook for the instance's rules fails closed.
	configuration := &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: a.namespace}}
	if err := a.api.Delete(t.Context(), configuration); err != nil {
		t.Fatal(err)
	}
	expect.Eventually(t, expect.Long, func() error { return a.tryCreate("f", "{instanceRef: i, replicas: 1}") })
	if err := a.apply(instanceYAML("i", "{metadata: {}, gateway: {}}")); err != nil {
		t.Errorf("the webhook for ids blocks the instance: %v", err)
	}
}

func TestStoppedOperatorAllowsEditAndDeletion(t *testing.T) {
	t.Parallel()
	a := serveWebhooks(t, nil)
	if err := a.apply(engineYAML("e", "{instanceRef: i, replicas: 1}")); err != nil {
		t.Fatal(err)
	}
	a.stopAndWait()
	e := &v1alpha1.FireboltEngine{ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: "e"}}
	for _, patch := range []string{`{"metadata":{"annotations":{"operator-command":"Stopped"}}}`, `{"metadata":{"finalizers":["example.com/keep"]}}`} {
		if err := a.api.Patch(t.Context(), e, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
			t.Errorf("%s: %v", patch, err)
		}
	}
	if err := a.api.Delete(t.Context(), e); err != nil {
		t.Error(err)
	}
	if err := a.api.Patch(t.Context(), e, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))); err != nil {
		t.Error(err)
	}
	expect.Deleted(t, a.api, e)
}

package webhook

import (
	"context"
	"errors"
	"fmt"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
)

// staleReader is a fake API server with one Secret, or one that fails.
type staleReader struct {
	client.Reader
	annotations map[string]string
	failure     error
}

func (l staleReader) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	if l.failure != nil {
		return l.failure
	}
	if key != (client.ObjectKey{Namespace: "ns", Name: "shop-metadata-postgres-creds"}) {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, key.Name)
	}
	if s, ok := into.(*corev1.Secret); ok {
		s.Annotations = l.annotations
	}
	return nil
}

func TestDefect8RecreatedInstanceGetsIDOfItsData(t *testing.T) {
	old := map[string]string{names.AnnotationInstanceID: "old"}
	cases := map[string]struct {
		object, name string
		apiReader    staleReader
		want         string // empty: left to the controller
	}{
		"its database is still there":   {`{"spec":{}}`, "shop", staleReader{annotations: old}, "old"},
		"nothing was left":              {`{"spec":{}}`, "other", staleReader{annotations: old}, "new"},
		"credentials that know no id":   {`{"spec":{}}`, "shop", staleReader{}, "new"},
		"it names an external database": {`{"spec":{"metadata":{"postgres":{"host":"db"}}}}`, "shop", staleReader{annotations: old}, "new"},
		"a generated name":              {`{"spec":{}}`, "", staleReader{annotations: old}, "new"},
		"the API server is unavailable": {`{"spec":{}}`, "shop", staleReader{failure: errors.New("timeout")}, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			h := identity{apiReader: tc.apiReader, newID: func() (string, error) { return "new", nil }}
			response := h.Handle(t.Context(), admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
				Operation: admissionv1.Create, Namespace: "ns", Name: tc.name, Object: runtime.RawExtension{Raw: []byte(tc.object)},
			}})
			got := ""
			for _, p := range response.Patches {
				got = fmt.Sprint(p.Value)
			}
			if !response.Allowed || got != tc.want {
				t.Errorf("id %q, want %q: %+v", got, tc.want, response)
			}
		})
	}
}

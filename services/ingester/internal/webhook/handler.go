package webhook

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/flotilla-dev/flotilla/services/ingester/api"
)

// path is the URL path that the API server calls for a new object.
const path = "/mutate-finalizer"

// handler responds to a creation with the patch that adds the finalizer, if it is missing.
type handler struct {
	watched []string
}

// Handle implements admission.Handler.
func (h handler) Handle(_ context.Context, req admission.Request) admission.Response {
	if req.Operation != admissionv1.Create || !h.watches(req.Namespace) {
		return admission.Allowed("")
	}
	var object metav1.PartialObjectMetadata
	if err := json.Unmarshal(req.Object.Raw, &object); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	patch := missing(object.GetFinalizers())
	if patch == nil {
		return admission.Allowed("")
	}
	return admission.Patched("", *patch)
}

func (h handler) watches(namespace string) bool {
	return len(h.watched) == 0 || slices.Contains(h.watched, namespace)
}

// missing returns the patch that adds our finalizer; nil if the object has it.
func missing(finalizers []string) *webhook.JSONPatchOp {
	switch {
	case slices.Contains(finalizers, api.IngesterFinalizer):
		return nil
	case len(finalizers) == 0:
		return &webhook.JSONPatchOp{Operation: "add", Path: "/metadata/finalizers", Value: []string{api.IngesterFinalizer}}
	default:
		return &webhook.JSONPatchOp{Operation: "add", Path: "/metadata/finalizers/-", Value: api.IngesterFinalizer}
	}
}

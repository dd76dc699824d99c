package webhook

import (
	"context"
	"encoding/json"
	"net/http"

	admissionv1 "k8s.io/api/admission/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/credentials"
)

// identityPath is the path at which the API server requests the id of a new instance.
const identityPath = "/mutate-compute-firebolt-io-v1alpha1-fireboltinstance"

// identity sets the id of a new instance, so that the response to the
// creation contains it. The controller sets the id of other instances.
//
// It responds with a single patch instead of the library's typed defaulter, which would
// add every field that the Go type marshals: an instance without the required gateway
// would get an empty one.
type identity struct {
	// apiReader reads Secrets one by one.
	apiReader client.Reader
	newID     func() (string, error)
	watched   []string
}

// Handle implements admission.Handler.
func (h identity) Handle(ctx context.Context, req admission.Request) admission.Response {
	if req.Operation != admissionv1.Create || foreign(h.watched, req.Namespace) {
		return admission.Allowed("")
	}
	var instance struct {
		Spec *struct {
			ID       string `json:"id"`
			Metadata struct {
				Postgres *struct{} `json:"postgres"`
			} `json:"metadata"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(req.Object.Raw, &instance); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	if instance.Spec == nil || instance.Spec.ID != "" {
		return admission.Allowed("")
	}
	id, err := "", error(nil)
	if instance.Spec.Metadata.Postgres == nil && req.Name != "" { // a generated name is new
		id, err = credentials.FormerID(ctx, h.apiReader, req.Namespace, req.Name)
	}
	if err == nil && id == "" {
		id, err = h.newID()
	}
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to assign an id, leaving it to the controller", "namespace", req.Namespace, "name", req.Name)
		return admission.Allowed("")
	}
	return admission.Patched("", webhook.JSONPatchOp{Operation: "add", Path: "/spec/id", Value: id})
}

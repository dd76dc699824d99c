package cli

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/flotilla-dev/flotilla/cmd/kubectl-flotilla/internal/approval"
	"github.com/flotilla-dev/flotilla/cmd/kubectl-flotilla/internal/kinds"
	"github.com/flotilla-dev/flotilla/libs/contract"
)

// An API server that never accepts the write must not keep the command forever.
func TestApproveEndsAfterRepeatedConflicts(t *testing.T) {
	pending := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Superset", "metadata": map[string]any{"name": "main", "namespace": "team-a", "uid": "u"},
		"spec":   map[string]any{"lifecycle": map[string]any{"upgradeMode": "Supervised"}},
		"status": map[string]any{"lifecycle": map[string]any{"upgrade": map[string]any{"approvalToken": "sha256:one"}}},
	}}
	const enough = 10
	patches := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		var reply any = pending
		if r.Method == http.MethodPatch {
			if patches++; patches < enough {
				w.WriteHeader(http.StatusConflict)
				reply = metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonConflict, Code: http.StatusConflict}
			}
		}
		if err := json.NewEncoder(w).Encode(reply); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	config := genericclioptions.NewConfigFlags(false)
	config.APIServer = &server.URL
	cluster, err := kinds.New(config)
	if err != nil {
		t.Fatal(err)
	}
	target := kinds.Target{Name: "main"}
	target.Kind, target.Resource = contract.Superset, schema.GroupVersionResource{Version: "v1", Resource: "supersets"}
	change, err := approval.Decide(pending, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := (&App{Streams: genericiooptions.NewTestIOStreamsDiscard()}).approve(t.Context(), cluster, approveOptions{}, target, pending, change); !apierrors.IsConflict(err) {
		t.Errorf("after %d conflicts got %v, want the conflict", patches, err)
	}
}

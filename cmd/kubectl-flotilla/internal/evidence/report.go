package evidence

import (
	"encoding/json"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flotilla-dev/flotilla/cmd/kubectl-flotilla/internal/view"
	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/contract/statusapi"
)

// Sources of a report.
const (
	StatusAPI = "status API"
	Cluster   = "cluster"
)

// Report is the evidence of one resource.
type Report struct {
	Source string `json:"source"` // StatusAPI or Cluster
	// Reason is the reason for using another source than the status API.
	Reason   string        `json:"why,omitempty"`
	Resource view.Resource `json:"resource"`
	// Writers maps each condition type to its field manager.
	Writers map[string]string `json:"writers,omitempty"`
	// Provenance identifies the observation that the conditions are based on; nil without the status API.
	Provenance *contract.Provenance `json:"provenance,omitempty"`
	// Observation is the latest observation; from the cluster it has only units and jobs.
	Observation *contract.Observation `json:"observation,omitempty"`
	// Events are Kubernetes events, newest first; only from the cluster.
	Events []Event `json:"events,omitempty"`
	// ReadErrors lists the read errors.
	ReadErrors []string `json:"unread,omitempty"`
}

// Event is one Kubernetes event.
type Event struct {
	Time    time.Time `json:"time"`
	Type    string    `json:"type"` // Normal or Warning
	Object  string    `json:"object"`
	Reason  string    `json:"reason"`
	Count   int32     `json:"count"`
	Message string    `json:"message"`
}

// FromAPI returns a report from the API's response and the resource itself.
func FromAPI(kind contract.Kind, u *unstructured.Unstructured, detail statusapi.ResourceDetail) Report {
	r := Report{
		Source: StatusAPI, Resource: view.Of(kind, u), Writers: Writers(u),
		Provenance: detail.Provenance, Observation: detail.Observation,
	}
	if detail.Incomplete != "" {
		r.ReadErrors = []string{detail.Incomplete}
	}
	return r
}

// Writers returns the field manager of each condition, from managedFields.
func Writers(u *unstructured.Unstructured) map[string]string {
	out := map[string]string{}
	for _, entry := range u.GetManagedFields() {
		if entry.FieldsV1 == nil {
			continue
		}
		var fields struct {
			Status struct {
				Conditions map[string]any `json:"f:conditions"`
			} `json:"f:status"`
		}
		if json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields) != nil {
			continue // the format of managedFields is unknown
		}
		for key := range fields.Status.Conditions {
			if conditionType := conditionOf(key); conditionType != "" {
				out[conditionType] = entry.Manager
			}
		}
	}
	return out
}

// conditionOf returns the type in a list key, k:{"type":"Available"}.
func conditionOf(key string) string {
	const prefix = "k:"
	if len(key) <= len(prefix) || key[:len(prefix)] != prefix {
		return ""
	}
	var k struct {
		Type string `json:"type"`
	}
	if json.Unmarshal([]byte(key[len(prefix):]), &k) != nil {
		return ""
	}
	return k.Type
}

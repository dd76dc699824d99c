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

// Report is all that is known of one resource.
type Report struct {
	Source string `json:"source"` // StatusAPI or Cluster
	// Why is the reason why the source is not the status API.
	Why      string        `json:"why,omitempty"`
	Resource view.Resource `json:"resource"`
	// Writers name the field manager of each condition type.
	Writers map[string]string `json:"writers,omitempty"`
	// Provenance is the observation that the conditions are based on; nil without the status API.
	Provenance *contract.Provenance `json:"provenance,omitempty"`
	// Observation is the observer's; from the cluster its units and jobs only.
	Observation *contract.Observation `json:"observation,omitempty"`
	// Events are Kubernetes events, newest first; only from the cluster.
	Events []Event `json:"events,omitempty"`
	// Unread lists what could not be read, and why.
	Unread []string `json:"unread,omitempty"`
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

// FromAPI makes a report of the API's answer and the resource itself.
func FromAPI(kind contract.Kind, u *unstructured.Unstructured, detail statusapi.ResourceDetail) Report {
	r := Report{
		Source: StatusAPI, Resource: view.Of(kind, u), Writers: Writers(u),
		Provenance: detail.Provenance, Observation: detail.Observation,
	}
	if detail.Incomplete != "" {
		r.Unread = []string{detail.Incomplete}
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
			continue // another form of managedFields says nothing to us
		}
		for key := range fields.Status.Conditions {
			if conditionType := conditionOf(key); conditionType != "" {
				out[conditionType] = entry.Manager
			}
		}
	}
	return out
}

// conditionOf reads the type out of a list key, k:{"type":"Available"}.
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

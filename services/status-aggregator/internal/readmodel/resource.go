package readmodel

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/contract/statusapi"

	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/observe"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/registry"
)

// resource returns an object in the form of the API. A status that cannot be read is omitted:
// the object still exists.
func resource(cluster string, kind registry.Kind, u *unstructured.Unstructured) statusapi.Resource {
	o, err := observe.Read(kind, u)
	if err != nil {
		o = observe.Object{Unstructured: u}
	}
	return statusapi.Resource{
		Cluster: cluster, Kind: kind.Token, Object: o.Identity(kind), Phase: o.Phase, Conditions: conditions(o.Conditions),
	}
}

func conditions(list []metav1.Condition) []contract.Condition {
	out := make([]contract.Condition, 0, len(list))
	for _, c := range list {
		out = append(out, contract.Condition{
			Type: c.Type, Status: string(c.Status), Reason: c.Reason, Message: c.Message,
			ObservedGeneration: c.ObservedGeneration, LastTransitionTime: c.LastTransitionTime.UTC(),
		})
	}
	return out
}

package exposure

import (
	"maps"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/desired"
)

// State is what should exist around the components of a Superset. What is nil should not exist.
type State struct {
	// Ingress is nil also when the spec asks for one but names no host: that spec is
	// refused, and what exists stays.
	Ingress        *networkingv1.Ingress
	HTTPRoute      *unstructured.Unstructured
	ServiceMonitor *unstructured.Unstructured
	// NetworkPolicies are in the order of the components.
	NetworkPolicies []*networkingv1.NetworkPolicy
}

// For renders everything that the spec asks for.
func For(sup *v1alpha1.Superset, components []desired.Component) (State, error) {
	var s State
	var err error
	if n := sup.Spec.Networking; n != nil && n.Ingress != nil {
		s.Ingress = ingress(sup, n.Ingress, routes(components))
	} else if n != nil && n.Gateway != nil {
		s.HTTPRoute, err = httpRoute(sup, n.Gateway, routes(components))
	}
	if m := sup.Spec.Monitoring; m != nil && m.ServiceMonitor != nil {
		s.ServiceMonitor = serviceMonitor(sup, m.ServiceMonitor, components)
	}
	if p := sup.Spec.NetworkPolicy; p != nil {
		for i := range components {
			s.NetworkPolicies = append(s.NetworkPolicies, networkPolicy(sup, p, &components[i]))
		}
	}
	return s, err
}

// layered merges maps, later ones winning.
func layered(layers ...map[string]string) map[string]string {
	out := map[string]string{}
	for _, layer := range layers {
		maps.Copy(out, layer)
	}
	return out
}

package exposure

import (
	"maps"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/component"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/desired"
)

// Networking returns the Ingress or the HTTPRoute that the spec configures, or neither.
// The Ingress is also nil when the spec configures one without a host: the API server
// would reject it, and validation of the spec has rejected it before.
func Networking(sup *v1alpha1.Superset, components []desired.Component) (*networkingv1.Ingress, *unstructured.Unstructured, error) {
	n := sup.Spec.Networking
	switch {
	case n != nil && n.Ingress != nil:
		return ingress(sup, n.Ingress, routes(components)), nil, nil
	case n != nil && n.Gateway != nil:
		route, err := httpRoute(sup, n.Gateway, routes(components))
		return nil, route, err
	}
	return nil, nil, nil
}

// ServiceMonitor returns the object that lets Prometheus scrape the web server; nil
// if the spec does not configure it, or without a web server.
func ServiceMonitor(sup *v1alpha1.Superset, components []desired.Component) *unstructured.Unstructured {
	m := sup.Spec.Monitoring
	if m == nil || m.ServiceMonitor == nil {
		return nil
	}
	for i := range components {
		if c := &components[i]; c.Slug == component.WebServerName {
			return serviceMonitor(sup, m.ServiceMonitor, c.Selector)
		}
	}
	return nil
}

// NetworkPolicies returns one policy for each component, in their order, if the spec enables them.
func NetworkPolicies(sup *v1alpha1.Superset, components []desired.Component) []*networkingv1.NetworkPolicy {
	spec := sup.Spec.NetworkPolicy
	if spec == nil {
		return nil
	}
	out := make([]*networkingv1.NetworkPolicy, 0, len(components))
	for i := range components {
		out = append(out, networkPolicy(sup, spec, &components[i]))
	}
	return out
}

// layered merges maps, later ones winning.
func layered(layers ...map[string]string) map[string]string {
	out := map[string]string{}
	for _, layer := range layers {
		maps.Copy(out, layer)
	}
	return out
}

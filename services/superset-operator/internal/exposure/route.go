package exposure

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/desired"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/names"
)

// route maps a path prefix to a port of a Service.
type route struct {
	component, path, service string
	port                     int32
}

// routes returns the routes of the enabled components, the most specific first: the
// web server, which serves every path, is the first of the components.
func routes(components []desired.Component) []route {
	var out []route
	for i := range slices.Backward(components) {
		if c := &components[i]; c.Path != "" && c.Service != nil {
			out = append(out, route{component: c.Slug, path: c.Path, service: c.Service.Name, port: c.Service.Spec.Ports[0].Port})
		}
	}
	return out
}

func httpRoute(sup *v1alpha1.Superset, g *v1alpha1.GatewaySpec, list []route) (*unstructured.Unstructured, error) {
	if len(list) == 0 {
		return nil, nil
	}
	out := &gatewayv1.HTTPRoute{
		TypeMeta: metav1.TypeMeta{APIVersion: gatewayv1.GroupVersion.String(), Kind: "HTTPRoute"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: sup.Namespace, Name: sup.Name,
			Labels: layered(g.Labels, names.Shared(sup.Name)), Annotations: g.Annotations,
		},
		Spec: gatewayv1.HTTPRouteSpec{
			CommonRouteSpec: gatewayv1.CommonRouteSpec{ParentRefs: []gatewayv1.ParentReference{g.GatewayRef}},
			Hostnames:       g.Hostnames,
		},
	}
	for _, r := range list {
		out.Spec.Rules = append(out.Spec.Rules, rule(r))
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(out)
	if err != nil {
		return nil, fmt.Errorf("render HTTPRoute %q: %w", out.Name, err)
	}
	delete(content, "status")
	unstructured.RemoveNestedField(content, "metadata", "creationTimestamp")
	return &unstructured.Unstructured{Object: content}, nil
}

func rule(r route) gatewayv1.HTTPRouteRule {
	prefix, port := gatewayv1.PathMatchPathPrefix, r.port
	return gatewayv1.HTTPRouteRule{
		Matches: []gatewayv1.HTTPRouteMatch{{Path: &gatewayv1.HTTPPathMatch{Type: &prefix, Value: &r.path}}},
		BackendRefs: []gatewayv1.HTTPBackendRef{{BackendRef: gatewayv1.BackendRef{
			BackendObjectReference: gatewayv1.BackendObjectReference{Name: gatewayv1.ObjectName(r.service), Port: &port},
		}}},
	}
}

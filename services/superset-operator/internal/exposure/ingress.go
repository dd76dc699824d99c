package exposure

import (
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/component"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/names"
)

// ingress returns nil if there are no rules: the API server rejects an Ingress
// without rules.
func ingress(sup *v1alpha1.Superset, spec *v1alpha1.IngressSpec, list []route) *networkingv1.Ingress {
	hosts := spec.Hosts
	if len(hosts) == 0 && spec.Host != "" {
		hosts = []v1alpha1.IngressHost{{Host: spec.Host}}
	}
	out := &networkingv1.Ingress{
		TypeMeta: metav1.TypeMeta{APIVersion: networkingv1.SchemeGroupVersion.String(), Kind: "Ingress"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: sup.Namespace, Name: sup.Name,
			Labels: layered(spec.Labels, names.Shared(sup.Name)), Annotations: spec.Annotations,
		},
		Spec: networkingv1.IngressSpec{IngressClassName: spec.ClassName, TLS: spec.TLS},
	}
	for _, h := range hosts {
		paths := fanOut(list)
		if len(h.Paths) > 0 {
			paths = toWeb(h.Paths, list)
		}
		if len(paths) == 0 {
			continue
		}
		out.Spec.Rules = append(out.Spec.Rules, networkingv1.IngressRule{
			Host:             h.Host,
			IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{Paths: paths}},
		})
	}
	if len(out.Spec.Rules) == 0 {
		return nil
	}
	return out
}

// fanOut routes each component's own path to it.
func fanOut(list []route) []networkingv1.HTTPIngressPath {
	out := make([]networkingv1.HTTPIngressPath, 0, len(list))
	for _, r := range list {
		out = append(out, r.ingressPath(r.path, networkingv1.PathTypePrefix))
	}
	return out
}

// toWeb routes the paths that the user configures to the web server.
func toWeb(paths []v1alpha1.IngressPath, list []route) []networkingv1.HTTPIngressPath {
	var out []networkingv1.HTTPIngressPath
	for _, r := range list {
		if r.component != component.WebServerName {
			continue
		}
		for _, p := range paths {
			path, kind := p.Path, networkingv1.PathTypePrefix
			if path == "" {
				path = "/"
			}
			if p.PathType != nil {
				kind = *p.PathType
			}
			out = append(out, r.ingressPath(path, kind))
		}
	}
	return out
}

func (r route) ingressPath(path string, kind networkingv1.PathType) networkingv1.HTTPIngressPath {
	return networkingv1.HTTPIngressPath{
		Path: path, PathType: &kind,
		Backend: networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{
			Name: r.service, Port: networkingv1.ServiceBackendPort{Number: r.port},
		}},
	}
}

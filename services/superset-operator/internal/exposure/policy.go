package exposure

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/desired"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/names"
)

// networkPolicy allows ingress to a component from the Superset's own pods, and from
// every source to the port of one that has a Service. Egress is open: the locations
// of metastore, cache and data sources are not known here.
func networkPolicy(sup *v1alpha1.Superset, spec *v1alpha1.NetworkPolicySpec, c *desired.Component) *networkingv1.NetworkPolicy {
	ownPods := networkingv1.NetworkPolicyPeer{PodSelector: &metav1.LabelSelector{MatchLabels: names.Shared(sup.Name)}}
	ingress := []networkingv1.NetworkPolicyIngressRule{{From: []networkingv1.NetworkPolicyPeer{ownPods}}}
	if c.Service != nil {
		tcp, port := corev1.ProtocolTCP, intstr.FromInt32(c.Port())
		ingress = append(ingress, networkingv1.NetworkPolicyIngressRule{
			Ports: []networkingv1.NetworkPolicyPort{{Protocol: &tcp, Port: &port}},
		})
	}
	labels := names.Shared(sup.Name)
	labels[v1alpha1.LabelComponent] = c.Slug
	return &networkingv1.NetworkPolicy{
		TypeMeta: metav1.TypeMeta{APIVersion: networkingv1.SchemeGroupVersion.String(), Kind: "NetworkPolicy"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: sup.Namespace, Name: names.Component(sup.Name, c.Slug) + "-netpol", Labels: labels,
		},
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: c.Selector},
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress},
			Ingress:     slices.Concat(ingress, spec.ExtraIngress),
			Egress:      slices.Concat([]networkingv1.NetworkPolicyEgressRule{{}}, spec.ExtraEgress),
		},
	}
}

package render

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/names"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
)

// Service renders a component's Service; nil for a component without a port.
func Service(c *resolve.Component) *corev1.Service {
	if c.Descriptor.Port == 0 {
		return nil
	}
	settings := v1alpha1.ComponentServiceSpec{}
	if c.Service != nil {
		settings = *c.Service
	}
	port := corev1.ServicePort{
		Name: "http", Protocol: corev1.ProtocolTCP,
		Port: c.Descriptor.Port, TargetPort: intstr.FromInt32(c.Port()),
	}
	if settings.Port != nil {
		port.Port = *settings.Port
	}
	if settings.NodePort != nil {
		port.NodePort = *settings.NodePort
	}
	kind := settings.Type
	if kind == "" {
		kind = corev1.ServiceTypeClusterIP
	}
	return &corev1.Service{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: c.Namespace, Name: c.Name,
			Labels: layered(settings.Labels, c.Labels), Annotations: cloneMap(settings.Annotations),
		},
		Spec: corev1.ServiceSpec{Type: kind, Selector: layered(c.Selector), Ports: []corev1.ServicePort{port}},
	}
}

// ServiceAccount renders the account under which all pods run.
func ServiceAccount(sup *v1alpha1.Superset, settings *v1alpha1.ServiceAccountSpec) *corev1.ServiceAccount {
	return &corev1.ServiceAccount{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: sup.Namespace, Name: names.ServiceAccount(sup),
			Labels: names.Shared(sup.Name), Annotations: cloneMap(settings.Annotations),
		},
	}
}

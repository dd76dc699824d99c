package gateway

import (
	"fmt"
	"net/netip"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/resolve"
)

// Component is the value of the component label on all objects of a gateway.
const Component = "gateway"

// Defaults of the spec.
const (
	defaultReplicas    = 2
	defaultMetricsPort = names.PortMetrics
)

// ConfigFile is the key of the ConfigMap and the name of the file in the pod.
const ConfigFile = "envoy.yaml"

// Objects are all objects of a gateway. None is nil after [Render].
type Objects struct {
	ServiceAccount *corev1.ServiceAccount
	Config         *corev1.ConfigMap
	Service        *corev1.Service
	Deployment     *appsv1.Deployment
	Budget         *policyv1.PodDisruptionBudget
}

// Endpoint returns the host of an instance's gateway, which listens on port 80.
func Endpoint(i *v1alpha1.FireboltInstance) string {
	return names.ServiceHost(names.Gateway(i.Name), i.Namespace)
}

// EffectiveReplicas returns the replicas of the spec, 2 by default.
func EffectiveReplicas(i *v1alpha1.FireboltInstance) int32 {
	return ptr.Deref(i.Spec.Gateway.Replicas, defaultReplicas)
}

// MetricsPort returns the port of /healthz and /stats/prometheus, 9090 by default.
func MetricsPort(i *v1alpha1.FireboltInstance) int32 {
	if p := i.Spec.Gateway.MetricsPort; p != 0 {
		return p
	}
	return defaultMetricsPort
}

// Render renders the gateway of an instance with the given image, unless its template sets another, the given effective
// replicas, and the address at which it listens, 0.0.0.0 or ::. An error means that the spec can never be rendered.
func Render(i *v1alpha1.FireboltInstance, image string, replicas int32, listen netip.Addr) (Objects, error) {
	switch port := MetricsPort(i); port {
	case names.PortGateway, names.PortEnvoyAdmin:
		return Objects{}, fmt.Errorf("spec.gateway.metricsPort: %d is a port that the gateway uses itself", port)
	}
	config, err := bootstrap(i.Namespace, listen, MetricsPort(i))
	if err != nil {
		return Objects{}, fmt.Errorf("write gateway configuration of instance %q: %w", i.Name, err)
	}
	hash, err := resolve.Hash(config)
	if err != nil {
		return Objects{}, fmt.Errorf("hash gateway configuration of instance %q: %w", i.Name, err)
	}
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Name: name, Namespace: i.Namespace, Labels: names.ComponentLabels(i.Name, Component)}
	}
	name := names.Gateway(i.Name)
	return Objects{
		ServiceAccount: &corev1.ServiceAccount{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"}, ObjectMeta: meta(name),
			AutomountServiceAccountToken: new(false),
		},
		Config: &corev1.ConfigMap{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: meta(names.GatewayConfig(i.Name)),
			Data: map[string]string{ConfigFile: config},
		},
		Service: &corev1.Service{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}, ObjectMeta: meta(name),
			Spec: corev1.ServiceSpec{
				Type: corev1.ServiceTypeClusterIP, Selector: names.ComponentLabels(i.Name, Component),
				Ports: []corev1.ServicePort{{
					Name: "http", Port: names.PortGatewayService, TargetPort: intstr.FromInt32(names.PortGateway),
					Protocol: corev1.ProtocolTCP,
				}},
			},
		},
		Deployment: deployment(i, meta(name), image, replicas, hash),
		Budget: &policyv1.PodDisruptionBudget{
			TypeMeta: metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"}, ObjectMeta: meta(name),
			Spec: policyv1.PodDisruptionBudgetSpec{
				MaxUnavailable: new(intstr.FromInt32(1)),
				Selector:       &metav1.LabelSelector{MatchLabels: names.ComponentLabels(i.Name, Component)},
				// A pod that serves no traffic must not block the drain of a node.
				UnhealthyPodEvictionPolicy: new(policyv1.AlwaysAllow),
			},
		},
	}, nil
}

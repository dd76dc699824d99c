package render

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
)

// Headless returns the Service that gives the pods of a generation DNS names, also before they are
// ready: the nodes of an engine discover each other through it.
func Headless(namespace, engine string, n int64) *corev1.Service {
	s := service(namespace, names.Headless(engine, n), names.GenerationLabels(engine, n))
	s.Spec.Selector = names.GenerationLabels(engine, n)
	s.Spec.PublishNotReadyAddresses = true
	return s
}

// Cluster returns the Service of an engine, which selects generation n. It has no generation
// label: it outlives every generation.
func Cluster(namespace, engine string, n int64) *corev1.Service {
	s := service(namespace, names.Cluster(engine), names.EngineLabels(engine))
	s.Spec.Selector = names.GenerationLabels(engine, n)
	return s
}

func service(namespace, name string, labels map[string]string) *corev1.Service {
	return &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, Labels: labels},
		Spec: corev1.ServiceSpec{
			Type:      corev1.ServiceTypeClusterIP,
			ClusterIP: corev1.ClusterIPNone,
			Ports: []corev1.ServicePort{
				port("http-query", names.PortQuery), port("health", names.PortHealth), port("metrics", names.PortMetrics),
			},
		},
	}
}

func port(name string, number int32) corev1.ServicePort {
	return corev1.ServicePort{Name: name, Port: number, TargetPort: intstr.FromInt32(number), Protocol: corev1.ProtocolTCP}
}

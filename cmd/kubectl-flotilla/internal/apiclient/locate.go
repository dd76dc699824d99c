package apiclient

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// target is one pod of the Service.
type target struct {
	pod         string
	port        int32
	servicePort string
}

// locate finds a ready pod of the Service. Every replica serves the API, so it uses the first by name.
func (t *tunnel) locate(ctx context.Context) (target, error) {
	service, err := t.kube.CoreV1().Services(t.namespace).Get(ctx, Service, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return target{}, fmt.Errorf("%w: no Service %s in namespace %q; set --flotilla-namespace or --status-url",
			ErrNotFound, Service, t.namespace)
	case err != nil:
		return target{}, fmt.Errorf("%w: get Service %s/%s: %w", ErrNotFound, t.namespace, Service, err)
	}
	port, err := servicePort(service)
	if err != nil {
		return target{}, err
	}
	if port.AppProtocol != nil && *port.AppProtocol == "http" {
		return target{}, fmt.Errorf("%w: port %q of Service %s/%s uses plain HTTP, which does not authenticate the receiver of your token; "+
			"serve the API over https, or name an address with --status-url", ErrAddress, Port, t.namespace, Service)
	}
	selector := labels.SelectorFromValidatedSet(service.Spec.Selector)
	pods, err := t.kube.CoreV1().Pods(t.namespace).List(ctx, metav1.ListOptions{LabelSelector: selector.String()})
	if err != nil {
		return target{}, fmt.Errorf("%w: list the pods of Service %s/%s: %w", ErrNotFound, t.namespace, Service, err)
	}
	slices.SortFunc(pods.Items, func(a, b corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	for i := range pods.Items {
		pod := &pods.Items[i]
		number := containerPort(pod, port)
		if ready(pod) && number != 0 {
			return target{pod: pod.Name, port: number, servicePort: strconv.Itoa(int(port.Port))}, nil
		}
	}
	return target{}, fmt.Errorf("%w: no pod of Service %s/%s is ready, of %d", ErrNotFound, t.namespace, Service, len(pods.Items))
}

func servicePort(service *corev1.Service) (corev1.ServicePort, error) {
	for _, p := range service.Spec.Ports {
		if p.Name == Port {
			return p, nil
		}
	}
	return corev1.ServicePort{}, fmt.Errorf("%w: Service %s/%s has no port named %q", ErrNotFound, service.Namespace, service.Name, Port)
}

// containerPort resolves a port that may be given by name; 0 means that the pod has no port of that name.
func containerPort(pod *corev1.Pod, p corev1.ServicePort) int32 {
	if p.TargetPort.Type == intstr.Int {
		return cmp.Or(p.TargetPort.IntVal, p.Port)
	}
	for _, c := range pod.Spec.Containers {
		for _, port := range c.Ports {
			if port.Name == p.TargetPort.StrVal {
				return port.ContainerPort
			}
		}
	}
	return 0
}

func ready(pod *corev1.Pod) bool {
	if pod.DeletionTimestamp != nil {
		return false
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

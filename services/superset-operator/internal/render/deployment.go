package render

import (
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
)

// Deployment renders a component's Deployment. checksum is an annotation of the pods,
// so that a change of it replaces them; empty for a component without configuration.
func Deployment(c *resolve.Component, checksum string) *appsv1.Deployment {
	template := &c.Deployment
	d := &appsv1.Deployment{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: c.Namespace, Name: c.Name,
			Labels: layered(template.Labels, c.Labels), Annotations: template.Annotations,
		},
		Spec: appsv1.DeploymentSpec{
			Replicas:                &c.Replicas,
			RevisionHistoryLimit:    template.RevisionHistoryLimit,
			ProgressDeadlineSeconds: template.ProgressDeadlineSeconds,
			Selector:                &metav1.LabelSelector{MatchLabels: c.Selector},
			Strategy:                strategy(c),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{
					Labels:      layered(c.Pod.Labels, c.Labels),
					Annotations: podAnnotations(c, checksum),
				},
				Spec: podSpec(&c.Workload, container{
					command: componentCommand(c),
					args:    c.Pod.Container.Args,
					env:     componentEnvironment(c),
					ports:   ports(c),
					probes:  componentProbes(c),
					files:   componentFiles(c),

					lifecycle: preStopHook(c), grace: grace(c),
				}),
			},
		},
	}
	if template.MinReadySeconds != nil {
		d.Spec.MinReadySeconds = *template.MinReadySeconds
	}
	// An apply writes the server's answer into the object, so it must share no memory with the plan.
	return d.DeepCopy()
}

func podAnnotations(c *resolve.Component, checksum string) map[string]string {
	if checksum == "" {
		return c.Pod.Annotations
	}
	return layered(c.Pod.Annotations, map[string]string{v1alpha1.AnnotationConfigChecksum: checksum})
}

// strategy returns the user's strategy, except for the scheduler: two at a time would send every report twice.
func strategy(c *resolve.Component) appsv1.DeploymentStrategy {
	if c.Descriptor.Singleton {
		return appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
	}
	return Strategy(c.Deployment.Strategy)
}

// Strategy completes the strategy of a Deployment; the user's may be nil.
//
// The limits of a rolling update are always set, to the API server's defaults: values
// that the API server sets have no field manager, remain when the strategy changes,
// and make the new strategy invalid.
func Strategy(own *appsv1.DeploymentStrategy) appsv1.DeploymentStrategy {
	var out appsv1.DeploymentStrategy
	if own != nil {
		out = *own.DeepCopy()
	}
	if out.Type == "" {
		out.Type = appsv1.RollingUpdateDeploymentStrategyType
	}
	if out.Type != appsv1.RollingUpdateDeploymentStrategyType {
		return out
	}
	if out.RollingUpdate == nil {
		out.RollingUpdate = &appsv1.RollingUpdateDeployment{}
	}
	quarter := intstr.FromString("25%")
	if out.RollingUpdate.MaxUnavailable == nil {
		out.RollingUpdate.MaxUnavailable = &quarter
	}
	if out.RollingUpdate.MaxSurge == nil {
		out.RollingUpdate.MaxSurge = &quarter
	}
	return out
}

func ports(c *resolve.Component) []corev1.ContainerPort {
	if user := c.Pod.Container.Ports; len(user) > 0 {
		return user
	}
	if c.Descriptor.Port == 0 {
		return nil
	}
	return []corev1.ContainerPort{{Name: c.Descriptor.PortName, ContainerPort: c.Descriptor.Port, Protocol: corev1.ProtocolTCP}}
}

// layered merges maps, later ones winning, into a new one.
func layered(layers ...map[string]string) map[string]string {
	out := map[string]string{}
	for _, layer := range layers {
		maps.Copy(out, layer)
	}
	return out
}

// cloneMap returns a new map; nil when there is nothing in it.
func cloneMap(m map[string]string) map[string]string {
	if len(m) == 0 {
		return nil
	}
	return maps.Clone(m)
}

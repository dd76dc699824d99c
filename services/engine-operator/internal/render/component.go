package render

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// componentPod merges the pod of an instance's component with the user's template: the operator's
// labels and container take precedence, the user's container of the same name sets image, pull
// policy and resources, and the user sets all other allowed fields. Annotations
// are never nil.
func componentPod(user *corev1.PodTemplateSpec, labels map[string]string, own corev1.Container) corev1.PodTemplateSpec {
	out := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{}, Annotations: map[string]string{}}}
	var u corev1.PodSpec
	if user != nil {
		maps.Copy(out.Labels, user.Labels)
		maps.Copy(out.Annotations, user.Annotations)
		u = *user.Spec.DeepCopy()
	}
	maps.Copy(out.Labels, labels)
	out.Spec = corev1.PodSpec{
		ServiceAccountName: u.ServiceAccountName, PriorityClassName: u.PriorityClassName,
		DNSPolicy: u.DNSPolicy, DNSConfig: u.DNSConfig, SchedulerName: u.SchedulerName, Affinity: u.Affinity,
		RuntimeClassName: u.RuntimeClassName, PreemptionPolicy: u.PreemptionPolicy, OS: u.OS, Overhead: u.Overhead,
		NodeSelector: u.NodeSelector, Tolerations: u.Tolerations, ReadinessGates: u.ReadinessGates,
		TopologySpreadConstraints: u.TopologySpreadConstraints, ResourceClaims: u.ResourceClaims,
		HostAliases: u.HostAliases, ImagePullSecrets: u.ImagePullSecrets, InitContainers: u.InitContainers,
		SecurityContext: u.SecurityContext, Volumes: u.Volumes,
	}
	if out.Spec.SecurityContext == nil {
		out.Spec.SecurityContext = &corev1.PodSecurityContext{SeccompProfile: RuntimeDefault()}
	}
	own, sidecars := overridden(own, u.Containers)
	out.Spec.Containers = append([]corev1.Container{own}, sidecars...)
	return out
}

// overridden copies image, pull policy and resources from the user's container of the same
// name, and returns the user's other containers next to it.
func overridden(own corev1.Container, user []corev1.Container) (corev1.Container, []corev1.Container) {
	var sidecars []corev1.Container
	for _, c := range user {
		if c.Name != own.Name {
			sidecars = append(sidecars, c)
			continue
		}
		if c.Image != "" {
			own.Image = c.Image
		}
		if c.ImagePullPolicy != "" {
			own.ImagePullPolicy = c.ImagePullPolicy
		}
		if len(c.Resources.Requests)+len(c.Resources.Limits)+len(c.Resources.Claims) > 0 {
			own.Resources = c.Resources
		}
	}
	if own.ImagePullPolicy == "" {
		own.ImagePullPolicy = pullPolicy(own.Image)
	}
	return own, sidecars
}

// RuntimeDefault returns the seccomp profile that restricted namespaces require.
func RuntimeDefault() *corev1.SeccompProfile {
	return &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}
}

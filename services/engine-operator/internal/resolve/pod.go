package resolve

import corev1 "k8s.io/api/core/v1"

// Templates merges a pod template over another by the rules of the package. Containers and
// init containers are replaced by name, except the engine's, which is merged field by
// field. It changes neither argument; either may be nil.
func Templates(lower, upper *corev1.PodTemplateSpec) corev1.PodTemplateSpec {
	return mergeTemplates(lower, upper)
}

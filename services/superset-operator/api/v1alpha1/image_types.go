package v1alpha1

import corev1 "k8s.io/api/core/v1"

// ImageSpec is the base image of all components and tasks.
type ImageSpec struct {
	// Repository of the image, without a tag.
	// +kubebuilder:default="apachesuperset.docker.scarf.sh/apache/superset"
	// +optional
	Repository string `json:"repository,omitempty"`
	// Tag of the image, for example "6.0.0". A change of it is an upgrade: the lifecycle tasks run before the
	// components get the new image.
	// +kubebuilder:validation:MinLength=1
	Tag string `json:"tag"`
	// When nodes pull the image: Always, IfNotPresent or Never.
	// +kubebuilder:default=IfNotPresent
	// +optional
	PullPolicy corev1.PullPolicy `json:"pullPolicy,omitempty"`
	// Secrets with the credentials for the registry. All pods get them, those of tasks and of the maintenance page too.
	// +optional
	PullSecrets []corev1.LocalObjectReference `json:"pullSecrets,omitempty"`
}

// ImageOverrideSpec replaces parts of the base image for one component or for the tasks.
type ImageOverrideSpec struct {
	// Tag that is used instead of spec.image.tag.
	// +optional
	Tag *string `json:"tag,omitempty"`
	// Repository that is used instead of spec.image.repository.
	// +optional
	Repository *string `json:"repository,omitempty"`
	// When nodes pull the image, instead of spec.image.pullPolicy.
	// +kubebuilder:validation:Enum=Always;IfNotPresent;Never
	// +optional
	PullPolicy *corev1.PullPolicy `json:"pullPolicy,omitempty"`
}

// ContainerImageSpec is an image that is not Superset's own. Parts that are left out keep their defaults.
type ContainerImageSpec struct {
	// Repository of the image, without a tag.
	// +optional
	Repository string `json:"repository,omitempty"`
	// Tag of the image.
	// +optional
	Tag string `json:"tag,omitempty"`
	// When nodes pull the image: Always, IfNotPresent or Never.
	// +kubebuilder:default=IfNotPresent
	// +optional
	PullPolicy corev1.PullPolicy `json:"pullPolicy,omitempty"`
	// Secrets with the credentials for the registry, in addition to spec.image.pullSecrets.
	// +optional
	PullSecrets []corev1.LocalObjectReference `json:"pullSecrets,omitempty"`
}

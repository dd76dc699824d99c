package v1alpha1

import corev1 "k8s.io/api/core/v1"

// ImageSpec is the base image.
type ImageSpec struct {
	// +kubebuilder:default="apachesuperset.docker.scarf.sh/apache/superset"
	// +optional
	Repository string `json:"repository,omitempty"`
	// +kubebuilder:validation:MinLength=1
	Tag string `json:"tag"`
	// +kubebuilder:default=IfNotPresent
	// +optional
	PullPolicy corev1.PullPolicy `json:"pullPolicy,omitempty"`
	// +optional
	PullSecrets []corev1.LocalObjectReference `json:"pullSecrets,omitempty"`
}

// ImageOverrideSpec replaces parts of the base image for one component or for the tasks.
type ImageOverrideSpec struct {
	// +optional
	Tag *string `json:"tag,omitempty"`
	// +optional
	Repository *string `json:"repository,omitempty"`
	// +kubebuilder:validation:Enum=Always;IfNotPresent;Never
	// +optional
	PullPolicy *corev1.PullPolicy `json:"pullPolicy,omitempty"`
}

// ContainerImageSpec is an image that is not Superset's own.
type ContainerImageSpec struct {
	// +optional
	Repository string `json:"repository,omitempty"`
	// +optional
	Tag string `json:"tag,omitempty"`
	// +kubebuilder:default=IfNotPresent
	// +optional
	PullPolicy corev1.PullPolicy `json:"pullPolicy,omitempty"`
	// +optional
	PullSecrets []corev1.LocalObjectReference `json:"pullSecrets,omitempty"`
}

package v1alpha1

import corev1 "k8s.io/api/core/v1"

// ImageSpec is the base image of all components and tasks.
type ImageSpec struct {
	// repository is the repository of the image, without a tag.
	// +kubebuilder:default="apachesuperset.docker.scarf.sh/apache/superset"
	// +optional
	Repository string `json:"repository,omitempty"`
	// tag is the tag of the image, for example "6.0.0". A change of the tag is an upgrade: the lifecycle tasks run
	// before the components get the new image.
	// +kubebuilder:validation:MinLength=1
	Tag string `json:"tag"`
	// pullPolicy defines when nodes pull the image: Always, IfNotPresent or Never.
	// +kubebuilder:default=IfNotPresent
	// +optional
	PullPolicy corev1.PullPolicy `json:"pullPolicy,omitempty"`
	// pullSecrets reference Secrets with the registry credentials. All pods get them, including those of tasks and of
	// the maintenance page.
	// +optional
	PullSecrets []corev1.LocalObjectReference `json:"pullSecrets,omitempty"`
}

// ImageOverrideSpec overrides parts of the base image for one component or for the tasks.
type ImageOverrideSpec struct {
	// tag overrides spec.image.tag.
	// +optional
	Tag *string `json:"tag,omitempty"`
	// repository overrides spec.image.repository.
	// +optional
	Repository *string `json:"repository,omitempty"`
	// pullPolicy overrides spec.image.pullPolicy.
	// +kubebuilder:validation:Enum=Always;IfNotPresent;Never
	// +optional
	PullPolicy *corev1.PullPolicy `json:"pullPolicy,omitempty"`
}

// ContainerImageSpec is an image other than that of Superset. Unset fields keep their defaults.
type ContainerImageSpec struct {
	// repository is the repository of the image, without a tag.
	// +optional
	Repository string `json:"repository,omitempty"`
	// tag is the tag of the image.
	// +optional
	Tag string `json:"tag,omitempty"`
	// pullPolicy defines when nodes pull the image: Always, IfNotPresent or Never.
	// +kubebuilder:default=IfNotPresent
	// +optional
	PullPolicy corev1.PullPolicy `json:"pullPolicy,omitempty"`
	// pullSecrets reference Secrets with the registry credentials, in addition to spec.image.pullSecrets.
	// +optional
	PullSecrets []corev1.LocalObjectReference `json:"pullSecrets,omitempty"`
}

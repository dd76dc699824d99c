package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// FireboltEngineClassSpec holds the settings that the engines of a class share. Each engine can override each field;
// an edit of the class rolls out to all of its engines.
type FireboltEngineClassSpec struct {
	// template is the base of the engines' pod template.
	// +required
	Template corev1.PodTemplateSpec `json:"template"`
	// uiSidecar is the default of the engines' uiSidecar.
	// +optional
	UISidecar *bool `json:"uiSidecar,omitempty"`
	// storage is the default of the engines' storage.
	// +optional
	// +kubebuilder:default={}
	Storage EngineStorageSpec `json:"storage,omitempty"`
	// customEngineConfig is merged into config.yaml. The engine's own customEngineConfig takes precedence.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	CustomEngineConfig *apiextensionsv1.JSON `json:"customEngineConfig,omitempty"`
	// rollout is the default of the engines' rollout.
	// +optional
	Rollout *RolloutStrategy `json:"rollout,omitempty"`
	// drainCheckEnabled is the default of the engines' drainCheckEnabled.
	// +optional
	DrainCheckEnabled *bool `json:"drainCheckEnabled,omitempty"`
	// drainCheckInterval is the default of the engines' drainCheckInterval, at least 1s.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s')",message="drainCheckInterval must be a duration such as 90s, 5m or 1h30m, and not negative"
	DrainCheckInterval *metav1.Duration `json:"drainCheckInterval,omitempty"`
	// progressDeadline is the default of the engines' progressDeadline.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s')",message="progressDeadline must be a duration such as 90s, 5m or 1h30m, and not negative"
	ProgressDeadline *metav1.Duration `json:"progressDeadline,omitempty"`
	// drainTimeout is the default of the engines' drainTimeout.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s')",message="drainTimeout must be a duration such as 90s, 5m or 1h30m, and not negative"
	DrainTimeout *metav1.Duration `json:"drainTimeout,omitempty"`
	// automaticRollback is the default of the engines' automaticRollback.
	// +optional
	AutomaticRollback *bool `json:"automaticRollback,omitempty"`
	// autoStop is the default of the engines' autoStop.
	// +optional
	AutoStop *AutoStopSpec `json:"autoStop,omitempty"`
}

// FireboltEngineClassStatus is the observed state of a class.
type FireboltEngineClassStatus struct {
	// observedGeneration is the metadata.generation that the rest of the status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// boundEngines is the number of engines that reference the class.
	// +optional
	BoundEngines int32 `json:"boundEngines,omitempty"`
	// conditions are the conditions of the class.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// FireboltEngineClass is a pod template with defaults that engines share.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=fireboltengineclasses,shortName=firengc
// +kubebuilder:printcolumn:name="Bound",type=integer,JSONPath=`.status.boundEngines`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type FireboltEngineClass struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state.
	// +required
	Spec FireboltEngineClassSpec `json:"spec"`
	// status is the observed state.
	// +optional
	Status FireboltEngineClassStatus `json:"status,omitempty"`
}

// FireboltEngineClassList is a list of classes.
//
// +kubebuilder:object:root=true
type FireboltEngineClassList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []FireboltEngineClass `json:"items"`
}

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// FireboltEngineClassSpec is what the engines of a class have in common. Each engine
// may override each field; an edit of the class rolls all of its engines.
type FireboltEngineClassSpec struct {
	// Template is the base of the engines' pod template.
	// +required
	Template corev1.PodTemplateSpec `json:"template"`
	// UISidecar is the default of the engines' uiSidecar.
	// +optional
	UISidecar *bool `json:"uiSidecar,omitempty"`
	// Storage is the default of the engines' storage.
	// +optional
	// +kubebuilder:default={}
	Storage EngineStorageSpec `json:"storage,omitempty"`
	// CustomEngineConfig is merged into config.yaml below the engine's own.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	CustomEngineConfig *apiextensionsv1.JSON `json:"customEngineConfig,omitempty"`
	// Rollout is the default of the engines' rollout.
	// +optional
	Rollout *RolloutStrategy `json:"rollout,omitempty"`
	// DrainCheckEnabled is the default of the engines' drainCheckEnabled.
	// +optional
	DrainCheckEnabled *bool `json:"drainCheckEnabled,omitempty"`
	// DrainCheckInterval is the default of the engines' drainCheckInterval.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s')",message="drainCheckInterval must be a duration such as 90s, 5m or 1h30m, and not negative"
	DrainCheckInterval *metav1.Duration `json:"drainCheckInterval,omitempty"`
	// ProgressDeadline is the default of the engines' progressDeadline.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s')",message="progressDeadline must be a duration such as 90s, 5m or 1h30m, and not negative"
	ProgressDeadline *metav1.Duration `json:"progressDeadline,omitempty"`
	// DrainTimeout is the default of the engines' drainTimeout.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s')",message="drainTimeout must be a duration such as 90s, 5m or 1h30m, and not negative"
	DrainTimeout *metav1.Duration `json:"drainTimeout,omitempty"`
	// AutomaticRollback is the default of the engines' automaticRollback.
	// +optional
	AutomaticRollback *bool `json:"automaticRollback,omitempty"`
	// AutoStop is the default of the engines' autoStop.
	// +optional
	AutoStop *AutoStopSpec `json:"autoStop,omitempty"`
}

// FireboltEngineClassStatus is what the operator knows of a class.
type FireboltEngineClassStatus struct {
	// ObservedGeneration is the metadata.generation that the rest of the status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// BoundEngines counts the engines that reference the class.
	// +optional
	BoundEngines int32 `json:"boundEngines,omitempty"`
	// Conditions of the class.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// FireboltEngineClass is a pod template, and defaults, that engines share.
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

	// +required
	Spec FireboltEngineClassSpec `json:"spec"`
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

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Superset is one installation of Apache Superset: which image runs, where its database and cache are, which of six
// components it has, and how upgrades proceed.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=supersets,scope=Namespaced
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.status.deployedVersion`
// +kubebuilder:printcolumn:name="Wanted",type=string,JSONPath=`.status.version`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Lifecycle",type=string,JSONPath=`.status.lifecycle.phase`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.ready`
// +kubebuilder:printcolumn:name="Available",type=string,JSONPath=`.status.conditions[?(@.type=="Available")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 63",message="metadata.name must be at most 63 characters"
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="metadata.name must be a valid DNS label"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.webServer) || size(self.metadata.name) <= 52",message="metadata.name must be at most 52 characters when webServer is enabled"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.celeryWorker) || size(self.metadata.name) <= 49",message="metadata.name must be at most 49 characters when celeryWorker is enabled"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.celeryBeat) || size(self.metadata.name) <= 51",message="metadata.name must be at most 51 characters when celeryBeat is enabled"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.celeryFlower) || size(self.metadata.name) <= 49",message="metadata.name must be at most 49 characters when celeryFlower is enabled"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.websocketServer) || size(self.metadata.name) <= 46",message="metadata.name must be at most 46 characters when websocketServer is enabled"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.mcpServer) || size(self.metadata.name) <= 52",message="metadata.name must be at most 52 characters when mcpServer is enabled"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.lifecycle) || !has(self.spec.lifecycle.maintenancePage) || size(self.metadata.name) <= 46",message="metadata.name must be at most 46 characters when lifecycle.maintenancePage is enabled"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.lifecycle) || !has(self.spec.lifecycle.rotate) || size(self.metadata.name) <= 49",message="metadata.name must be at most 49 characters when lifecycle.rotate is enabled"
// +kubebuilder:validation:XValidation:rule="(has(self.spec.lifecycle) && has(self.spec.lifecycle.disabled) && self.spec.lifecycle.disabled) || size(self.metadata.name) <= 48",message="metadata.name must be at most 48 characters when lifecycle is enabled"
type Superset struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state.
	// +optional
	Spec SupersetSpec `json:"spec,omitempty"`
	// status is the observed state.
	// +optional
	Status SupersetStatus `json:"status,omitempty"`
}

// SupersetList is a list of Supersets.
//
// +kubebuilder:object:root=true
type SupersetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Superset `json:"items"`
}

// Environment defines how strict the validation of a spec is.
//
// +kubebuilder:validation:Enum=Development;Staging;Production
type Environment string

// Environments. Only Development allows inline secrets; only Development and Staging allow a clone.
const (
	// Development allows everything.
	Development Environment = "Development"
	// Staging does not allow inline secrets, an administrator or examples.
	Staging Environment = "Staging"
	// Production does not allow a clone either.
	Production Environment = "Production"
)

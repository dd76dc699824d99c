package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/libs/conditions/transition"
)

// EnginePhase is where an engine stands on its way from one generation to the next.
// The type carries no enumeration in the schema: an unknown value, left behind by
// another release, is repaired instead of refused.
type EnginePhase string

// Phases of an engine. Stable and stopped are terminal, the others lead to one of them.
const (
	PhaseStable    EnginePhase = "stable"
	PhaseCreating  EnginePhase = "creating"
	PhaseSwitching EnginePhase = "switching"
	PhaseDraining  EnginePhase = "draining"
	PhaseCleaning  EnginePhase = "cleaning"
	PhaseStopped   EnginePhase = "stopped"
)

// FireboltEngineSpec is what the user wants of an engine.
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.metadataEndpointOverride) || (has(self.metadataEndpointOverride) && self.metadataEndpointOverride == oldSelf.metadataEndpointOverride)",message="spec.metadataEndpointOverride may be set once and not be changed or cleared afterwards"
type FireboltEngineSpec struct {
	// InstanceRef names the FireboltInstance of the same namespace that the engine belongs to.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="spec.instanceRef is immutable"
	InstanceRef string `json:"instanceRef"`
	// EngineClassRef names the FireboltEngineClass of the same namespace whose template is the base.
	// A change rolls a generation.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	EngineClassRef *string `json:"engineClassRef,omitempty"`
	// Replicas is the number of nodes; 0 stops the engine.
	// +required
	// +kubebuilder:validation:Minimum=0
	Replicas int32 `json:"replicas"`
	// Template is laid over the class's template. A change rolls a generation.
	// +optional
	Template *corev1.PodTemplateSpec `json:"template,omitempty"`
	// UISidecar adds the web interface to each pod. Absent: the class's value, else false.
	// +optional
	UISidecar *bool `json:"uiSidecar,omitempty"`
	// DrainCheckEnabled makes a rollout wait for the old generation's queries. Absent: the class's value, else true.
	// +optional
	DrainCheckEnabled *bool `json:"drainCheckEnabled,omitempty"`
	// DrainCheckInterval is the time between two looks. Absent: the class's value, else 5s.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s')",message="drainCheckInterval must be a duration such as 90s, 5m or 1h30m, and not negative"
	DrainCheckInterval *metav1.Duration `json:"drainCheckInterval,omitempty"`
	// Rollout is how the old generation goes. Absent: the class's value, else graceful.
	// +optional
	Rollout *RolloutStrategy `json:"rollout,omitempty"`
	// MetadataEndpointOverride replaces the instance's metadata endpoint. It may be set once.
	// +optional
	MetadataEndpointOverride *string `json:"metadataEndpointOverride,omitempty"`
	// Storage of each pod; absent: the class's, else an emptyDir.
	// +optional
	// +kubebuilder:default={}
	Storage EngineStorageSpec `json:"storage,omitempty"`
	// CustomEngineConfig is merged into the engine's config.yaml; paths that the operator owns are ignored.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	CustomEngineConfig *apiextensionsv1.JSON `json:"customEngineConfig,omitempty"`
	// ProgressDeadline is how long a new generation may take to become ready before the condition
	// RolloutOverdue says so. Absent: the class's value, else 15m. Zero: no deadline.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s')",message="progressDeadline must be a duration such as 90s, 5m or 1h30m, and not negative"
	ProgressDeadline *metav1.Duration `json:"progressDeadline,omitempty"`
	// DrainTimeout is how long the old generation may keep running queries after traffic has moved;
	// it goes then, queries or not. Absent or zero: the class's value, else it may take for ever.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s')",message="drainTimeout must be a duration such as 90s, 5m or 1h30m, and not negative"
	DrainTimeout *metav1.Duration `json:"drainTimeout,omitempty"`
	// AutomaticRollback gives up a new generation that misses its progressDeadline and stays with the
	// generation that serves, until the engine is changed again. Absent: the class's value, else false.
	// +optional
	AutomaticRollback *bool `json:"automaticRollback,omitempty"`
	// AutoStop stops the engine while nobody uses it; absent: never.
	// +optional
	AutoStop *AutoStopSpec `json:"autoStop,omitempty"`
}

// FireboltEngineStatus is what the operator knows of an engine.
type FireboltEngineStatus struct {
	// ObservedGeneration is the newest metadata.generation that is fully rolled out.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// CurrentGeneration is the engine generation that is being built or, in a terminal phase, serves.
	// +required
	// +kubebuilder:default=0
	CurrentGeneration int64 `json:"currentGeneration"`
	// ActiveGeneration serves traffic; -1 before the first switch.
	// +required
	// +kubebuilder:default=-1
	ActiveGeneration int64 `json:"activeGeneration"`
	// DrainingGeneration is the one on its way out, in phases draining and cleaning only.
	// +optional
	DrainingGeneration *int64 `json:"drainingGeneration,omitempty"`
	// LastAllocatedGeneration is the greatest engine generation number ever given out.
	// It is written before anything of that generation exists, so no number is used twice.
	// +optional
	LastAllocatedGeneration *int64 `json:"lastAllocatedGeneration,omitempty"`
	// Phase of the engine: stable, creating, switching, draining, cleaning or stopped.
	// +optional
	Phase EnginePhase `json:"phase,omitempty"`
	// RolloutStartedAt is when the generation that is being rolled out got its number; absent in a terminal phase.
	// +optional
	RolloutStartedAt *metav1.Time `json:"rolloutStartedAt,omitempty"`
	// RejectedRendering is the hash of what automaticRollback gave up. It is not tried again; any change of
	// the engine or its class that renders something else is.
	// +optional
	RejectedRendering string `json:"rejectedRendering,omitempty"`
	// Replicas is the number of pods of the serving generation.
	// +optional
	Replicas int32 `json:"replicas,omitempty"`
	// ReadyReplicas is how many of them are ready.
	// +optional
	ReadyReplicas int32 `json:"readyReplicas,omitempty"`
	// Selector selects the pods of the serving generation, for autoscalers.
	// +optional
	Selector string `json:"selector,omitempty"`
	// DeployedVersion is the engine image of the serving generation.
	// +optional
	DeployedVersion string `json:"deployedVersion,omitempty"`
	// LastReconciled is when this status last changed.
	// +optional
	LastReconciled *metav1.Time `json:"lastReconciled,omitempty"`
	// LastActivityTime is when autoStop last saw a query.
	// +optional
	LastActivityTime *metav1.Time `json:"lastActivityTime,omitempty"`
	// LastScaledAt is when autoStop last changed the size.
	// +optional
	LastScaledAt *metav1.Time `json:"lastScaledAt,omitempty"`
	// AutoStopReason explains autoStop's last decision.
	// +optional
	AutoStopReason string `json:"autoStopReason,omitempty"`
	// ObservedAuthHash is the hash of the authentication settings that the serving generation runs with.
	// +optional
	ObservedAuthHash string `json:"observedAuthHash,omitempty"`
	// ObservedEngineTLSHash is the hash of the TLS settings that the serving generation runs with.
	// +optional
	ObservedEngineTLSHash string `json:"observedEngineTLSHash,omitempty"`
	// ObservedEngineServingCertFP is the fingerprint of the certificate that the engine serves.
	// +optional
	ObservedEngineServingCertFP string `json:"observedEngineServingCertFP,omitempty"`
	// ObservedEngineServingCertGen is the engine generation that the fingerprint belongs to.
	// +optional
	ObservedEngineServingCertGen *int64 `json:"observedEngineServingCertGen,omitempty"`
	// Transitions are the last phase changes, newest last.
	// +optional
	// +listType=atomic
	Transitions []transition.Entry `json:"transitions,omitempty"`
	// Conditions of the engine.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// FireboltEngine is a cluster of query nodes.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:resource:shortName=fireng
// +kubebuilder:printcolumn:name="Replicas",type=integer,JSONPath=`.spec.replicas`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Generation",type=integer,JSONPath=`.status.activeGeneration`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Reason",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Version",type=string,priority=1,JSONPath=`.status.deployedVersion`
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || (size(self.metadata.name) <= 48 && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$'))",optionalOldSelf=true,message="metadata.name must be a DNS label of at most 48 characters that begins with a letter: the names and labels of the engine's Services and pods are made from it"
type FireboltEngine struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec FireboltEngineSpec `json:"spec"`
	// +optional
	Status FireboltEngineStatus `json:"status,omitempty"`
}

// FireboltEngineList is a list of engines.
//
// +kubebuilder:object:root=true
type FireboltEngineList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []FireboltEngine `json:"items"`
}

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/libs/conditions/transition"
)

// EnginePhase is the step of an engine in the change from one generation to the next. The type has no enumeration in
// the schema: an unknown value from another release is repaired instead of rejected.
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

// FireboltEngineSpec is the desired state of an engine.
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.metadataEndpointOverride) || (has(self.metadataEndpointOverride) && self.metadataEndpointOverride == oldSelf.metadataEndpointOverride)",message="spec.metadataEndpointOverride may be set once and not be changed or cleared afterwards"
type FireboltEngineSpec struct {
	// instanceRef is the name of the FireboltInstance that the engine belongs to, in the same namespace.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="spec.instanceRef is immutable"
	InstanceRef string `json:"instanceRef"`
	// engineClassRef is the name of the FireboltEngineClass whose template is the base, in the same namespace. A
	// change rolls out a generation.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	EngineClassRef *string `json:"engineClassRef,omitempty"`
	// replicas is the number of nodes; 0 stops the engine.
	// +required
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	Replicas int32 `json:"replicas"`
	// template is merged over the template of the class. A change rolls out a generation.
	// +optional
	Template *corev1.PodTemplateSpec `json:"template,omitempty"`
	// uiSidecar adds the web interface to each pod. Defaults to the value of the class, else to false.
	// +optional
	UISidecar *bool `json:"uiSidecar,omitempty"`
	// drainCheckEnabled makes a rollout wait for the queries of the old generation. Defaults to the value of the
	// class, else to true.
	// +optional
	DrainCheckEnabled *bool `json:"drainCheckEnabled,omitempty"`
	// drainCheckInterval is the time between two drain checks, at least 1s. Defaults to the value of the class, else
	// to 5s.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s')",message="drainCheckInterval must be a duration such as 90s, 5m or 1h30m, and not negative"
	DrainCheckInterval *metav1.Duration `json:"drainCheckInterval,omitempty"`
	// rollout defines how the old generation is removed. Defaults to the value of the class, else to graceful.
	// +optional
	Rollout *RolloutStrategy `json:"rollout,omitempty"`
	// metadataEndpointOverride replaces the metadata endpoint of the instance. It can be set once.
	// +optional
	MetadataEndpointOverride *string `json:"metadataEndpointOverride,omitempty"`
	// storage is the storage of each pod. Defaults to that of the class, else to an emptyDir.
	// +optional
	// +kubebuilder:default={}
	Storage EngineStorageSpec `json:"storage,omitempty"`
	// customEngineConfig is merged into config.yaml of the engine; paths that the operator manages are ignored.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	CustomEngineConfig *apiextensionsv1.JSON `json:"customEngineConfig,omitempty"`
	// progressDeadline is how long a new generation can take to become ready before the condition RolloutOverdue is
	// True. Defaults to the value of the class, else to 15m. Zero means no deadline.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s')",message="progressDeadline must be a duration such as 90s, 5m or 1h30m, and not negative"
	ProgressDeadline *metav1.Duration `json:"progressDeadline,omitempty"`
	// drainTimeout is how long the old generation can run queries after traffic was routed to the new one; then it is
	// deleted even if queries run. When unset or zero, the value of the class applies, else no limit.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s')",message="drainTimeout must be a duration such as 90s, 5m or 1h30m, and not negative"
	DrainTimeout *metav1.Duration `json:"drainTimeout,omitempty"`
	// automaticRollback abandons a new generation that misses its progressDeadline. The serving generation is kept
	// until the engine changes again. Defaults to the value of the class, else to false.
	// +optional
	AutomaticRollback *bool `json:"automaticRollback,omitempty"`
	// autoStop stops the engine while it is idle. When unset, the engine never stops by itself.
	// +optional
	AutoStop *AutoStopSpec `json:"autoStop,omitempty"`
}

// FireboltEngineStatus is the observed state of an engine.
type FireboltEngineStatus struct {
	// observedGeneration is the latest metadata.generation that is fully rolled out.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// currentGeneration is the engine generation that is being created or, in a terminal phase, serves.
	// +required
	// +kubebuilder:default=0
	CurrentGeneration int64 `json:"currentGeneration"`
	// activeGeneration is the engine generation that serves traffic; -1 before the first switch.
	// +required
	// +kubebuilder:default=-1
	ActiveGeneration int64 `json:"activeGeneration"`
	// drainingGeneration is the engine generation that is being removed, in phases draining and cleaning only.
	// +optional
	DrainingGeneration *int64 `json:"drainingGeneration,omitempty"`
	// lastAllocatedGeneration is the greatest engine generation number that was ever allocated. It is written before
	// anything of that generation exists, so no number is used twice.
	// +optional
	LastAllocatedGeneration *int64 `json:"lastAllocatedGeneration,omitempty"`
	// phase is the phase of the engine: stable, creating, switching, draining, cleaning or stopped.
	// +optional
	Phase EnginePhase `json:"phase,omitempty"`
	// rolloutStartedAt is when the generation in rollout got its number, or the first one of the same rendering if edits
	// of StatefulSets replaced it. It is absent in a terminal phase.
	// +optional
	RolloutStartedAt *metav1.Time `json:"rolloutStartedAt,omitempty"`
	// rejectedRendering is the hash of the rendering that automaticRollback abandoned. It is not retried; a change of
	// the engine or its class that renders differently is rolled out.
	// +optional
	RejectedRendering string `json:"rejectedRendering,omitempty"`
	// replicas is the number of pods of the serving generation.
	// +optional
	Replicas int32 `json:"replicas,omitempty"`
	// readyReplicas is the number of these pods that are ready.
	// +optional
	ReadyReplicas int32 `json:"readyReplicas,omitempty"`
	// selector is the label selector of the serving generation's pods, for autoscalers.
	// +optional
	Selector string `json:"selector,omitempty"`
	// deployedVersion is the engine image of the serving generation.
	// +optional
	DeployedVersion string `json:"deployedVersion,omitempty"`
	// lastReconciled is when this status last changed.
	// +optional
	LastReconciled *metav1.Time `json:"lastReconciled,omitempty"`
	// lastActivityTime is when autoStop last observed a query.
	// +optional
	LastActivityTime *metav1.Time `json:"lastActivityTime,omitempty"`
	// lastScaledAt is when autoStop last changed the number of nodes.
	// +optional
	LastScaledAt *metav1.Time `json:"lastScaledAt,omitempty"`
	// autoStopReason explains the last decision of autoStop.
	// +optional
	AutoStopReason string `json:"autoStopReason,omitempty"`
	// observedAuthHash is the hash of the authentication settings of the serving generation.
	// +optional
	ObservedAuthHash string `json:"observedAuthHash,omitempty"`
	// observedEngineTLSHash is the hash of the TLS settings of the serving generation.
	// +optional
	ObservedEngineTLSHash string `json:"observedEngineTLSHash,omitempty"`
	// observedEngineServingCertFP is the fingerprint of the certificate that the engine serves.
	// +optional
	ObservedEngineServingCertFP string `json:"observedEngineServingCertFP,omitempty"`
	// observedEngineServingCertGen is the engine generation that the fingerprint belongs to.
	// +optional
	ObservedEngineServingCertGen *int64 `json:"observedEngineServingCertGen,omitempty"`
	// transitions are the last phase changes, newest last.
	// +optional
	// +listType=atomic
	Transitions []transition.Entry `json:"transitions,omitempty"`
	// conditions are the conditions of the engine.
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
// +kubebuilder:printcolumn:name="Degraded",type=string,JSONPath=`.status.conditions[?(@.type=="Degraded")].status`
// +kubebuilder:printcolumn:name="Generation",type=integer,JSONPath=`.status.activeGeneration`
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.status.deployedVersion`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Reason",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || (size(self.metadata.name) <= 48 && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$'))",optionalOldSelf=true,message="metadata.name must be a DNS label of at most 48 characters that begins with a letter: the names and labels of the engine's Services and pods are made from it"
type FireboltEngine struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state.
	// +required
	Spec FireboltEngineSpec `json:"spec"`
	// status is the observed state.
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

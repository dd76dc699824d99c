package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/libs/conditions/transition"
)

// InstancePhase sums an instance up. It follows from Ready alone.
// +kubebuilder:validation:Enum=Provisioning;Ready;Degraded;Failed
type InstancePhase string

// Phases of an instance.
const (
	InstanceProvisioning InstancePhase = "Provisioning"
	InstanceReady        InstancePhase = "Ready"
	InstanceDegraded     InstancePhase = "Degraded" // was Ready, is not
	InstanceFailed       InstancePhase = "Failed"   // cannot become Ready without a change of the spec
)

// FireboltInstanceStatus is what the operator knows of an instance.
type FireboltInstanceStatus struct {
	// ObservedGeneration is the metadata.generation that the rest of the status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Phase sums the instance up.
	// +optional
	Phase InstancePhase `json:"phase,omitempty"`
	// MetadataReady is true while the metadata service answers.
	// +optional
	MetadataReady bool `json:"metadataReady,omitempty"`
	// GatewayReady is true while the gateway answers.
	// +optional
	GatewayReady bool `json:"gatewayReady,omitempty"`
	// MetadataEndpoint is host:port of the metadata service, empty while it is not ready.
	// +optional
	MetadataEndpoint string `json:"metadataEndpoint,omitempty"`
	// GatewayEndpoint is the host of the gateway, empty while it is not ready.
	// +optional
	GatewayEndpoint string `json:"gatewayEndpoint,omitempty"`
	// DeployedVersion is the image of the metadata service that runs.
	// +optional
	DeployedVersion string `json:"deployedVersion,omitempty"`
	// RolledEngineTrustCAs are the fingerprints of the engine CAs that the gateway trusts.
	// +optional
	// +listType=atomic
	RolledEngineTrustCAs []string `json:"rolledEngineTrustCAs,omitempty"`
	// Auth is the state of the signing keys.
	// +optional
	Auth *AuthStatus `json:"auth,omitempty"`
	// EngineTLS is the state of encryption between gateway and engines.
	// +optional
	EngineTLS *EngineTLSStatus `json:"engineTLS,omitempty"`
	// GatewayTLS is the state of encryption between clients and gateway.
	// +optional
	GatewayTLS *GatewayTLSStatus `json:"gatewayTLS,omitempty"`
	// Transitions are the last phase changes, newest last.
	// +optional
	// +listType=atomic
	Transitions []transition.Entry `json:"transitions,omitempty"`
	// Conditions of the instance.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// AuthStatus is the state of the signing keys.
type AuthStatus struct {
	// +optional
	// +listType=map
	// +listMapKey=id
	SigningKeys []SigningKeyStatus `json:"signingKeys,omitempty"`
	// +optional
	SigningKeyGeneration int64 `json:"signingKeyGeneration,omitempty"`
	// +optional
	// +kubebuilder:validation:Enum=AwaitingPromotion;AwaitingRetireAnchor;AwaitingRemoval
	PendingRotationStep string `json:"pendingRotationStep,omitempty"`
	// +optional
	PendingSince *metav1.Time `json:"pendingSince,omitempty"`
	// LaggingEngines are the first five engines that a rotation waits for.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=5
	LaggingEngines []string `json:"laggingEngines,omitempty"`
	// +optional
	LaggingEngineCount int32 `json:"laggingEngineCount,omitempty"`
}

// SigningKeyStatus is one signing key.
type SigningKeyStatus struct {
	// +required
	ID string `json:"id"`
	// +required
	SecretName string `json:"secretName"`
	// +required
	CreatedAt metav1.Time `json:"createdAt"`
	// +optional
	ObservedPublicKeyFingerprint *string `json:"observedPublicKeyFingerprint,omitempty"`
	// +optional
	Algorithm string `json:"algorithm,omitempty"`
	// +optional
	Size int32 `json:"size,omitempty"`
	// +optional
	// +kubebuilder:validation:Enum=Active;ValidationOnly;Removing
	Phase string `json:"phase,omitempty"`
	// +optional
	DemotedAt *metav1.Time `json:"demotedAt,omitempty"`
	// +optional
	RetireEligibleAt *metav1.Time `json:"retireEligibleAt,omitempty"`
}

// EngineTLSStatus is the state of encryption between gateway and engines.
type EngineTLSStatus struct {
	// +required
	SecretName string `json:"secretName"`
	// +required
	CreatedAt metav1.Time `json:"createdAt"`
	// +optional
	Reencrypting bool `json:"reencrypting,omitempty"`
}

// GatewayTLSStatus is the state of encryption between clients and gateway.
type GatewayTLSStatus struct {
	// +required
	SecretName string `json:"secretName"`
	// +required
	CreatedAt metav1.Time `json:"createdAt"`
	// +optional
	// +kubebuilder:validation:Enum=TLS;MutualTLS
	Mode string `json:"mode,omitempty"`
	// +optional
	ClientCAFingerprint string `json:"clientCAFingerprint,omitempty"`
}

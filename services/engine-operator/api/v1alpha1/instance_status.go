package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/libs/conditions/transition"
)

// InstancePhase summarizes the state of an instance. It follows from the condition Ready alone.
// +kubebuilder:validation:Enum=Provisioning;Ready;Degraded;Failed
type InstancePhase string

// Phases of an instance.
const (
	InstanceProvisioning InstancePhase = "Provisioning"
	InstanceReady        InstancePhase = "Ready"
	InstanceDegraded     InstancePhase = "Degraded" // was Ready, and is not any more
	InstanceFailed       InstancePhase = "Failed"   // cannot become Ready without a change of the spec
)

// FireboltInstanceStatus is the observed state of an instance.
type FireboltInstanceStatus struct {
	// observedGeneration is the metadata.generation that the rest of the status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// phase summarizes the state of the instance.
	// +optional
	Phase InstancePhase `json:"phase,omitempty"`
	// metadataReady is true while the metadata service is ready.
	// +optional
	MetadataReady bool `json:"metadataReady,omitempty"`
	// gatewayReady is true while the gateway is ready.
	// +optional
	GatewayReady bool `json:"gatewayReady,omitempty"`
	// metadataEndpoint is host:port of the metadata service. It is empty while the service is not ready.
	// +optional
	MetadataEndpoint string `json:"metadataEndpoint,omitempty"`
	// gatewayEndpoint is the host of the gateway. It is empty while the gateway is not ready.
	// +optional
	GatewayEndpoint string `json:"gatewayEndpoint,omitempty"`
	// deployedVersion is the image of the metadata service that runs.
	// +optional
	DeployedVersion string `json:"deployedVersion,omitempty"`
	// rolledEngineTrustCAs are the fingerprints of the engine CAs that the gateway trusts.
	// +optional
	// +listType=atomic
	RolledEngineTrustCAs []string `json:"rolledEngineTrustCAs,omitempty"`
	// auth is the state of the signing keys.
	// +optional
	Auth *AuthStatus `json:"auth,omitempty"`
	// engineTLS is the state of encryption between gateway and engines.
	// +optional
	EngineTLS *EngineTLSStatus `json:"engineTLS,omitempty"`
	// gatewayTLS is the state of encryption between clients and gateway.
	// +optional
	GatewayTLS *GatewayTLSStatus `json:"gatewayTLS,omitempty"`
	// transitions are the last phase changes, newest last.
	// +optional
	// +listType=atomic
	Transitions []transition.Entry `json:"transitions,omitempty"`
	// conditions are the conditions of the instance.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// AuthStatus is the state of the signing keys.
type AuthStatus struct {
	// signingKeys are the signing keys.
	// +optional
	// +listType=map
	// +listMapKey=id
	SigningKeys []SigningKeyStatus `json:"signingKeys,omitempty"`
	// signingKeyGeneration is the number of the latest signing key.
	// +optional
	SigningKeyGeneration int64 `json:"signingKeyGeneration,omitempty"`
	// pendingRotationStep is the step that a rotation waits for.
	// +optional
	// +kubebuilder:validation:Enum=AwaitingPromotion;AwaitingRetireAnchor;AwaitingRemoval
	PendingRotationStep string `json:"pendingRotationStep,omitempty"`
	// pendingSince is when this step started.
	// +optional
	PendingSince *metav1.Time `json:"pendingSince,omitempty"`
	// laggingEngines are the first five engines that a rotation waits for.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=5
	LaggingEngines []string `json:"laggingEngines,omitempty"`
	// laggingEngineCount is the number of engines that a rotation waits for.
	// +optional
	LaggingEngineCount int32 `json:"laggingEngineCount,omitempty"`
}

// SigningKeyStatus is one signing key.
type SigningKeyStatus struct {
	// id is the ID of the key.
	// +required
	ID string `json:"id"`
	// secretName is the name of the Secret with the key.
	// +required
	SecretName string `json:"secretName"`
	// createdAt is when the key was first ready.
	// +required
	CreatedAt metav1.Time `json:"createdAt"`
	// observedPublicKeyFingerprint is the fingerprint of the public key.
	// +optional
	ObservedPublicKeyFingerprint *string `json:"observedPublicKeyFingerprint,omitempty"`
	// algorithm is the algorithm of the key.
	// +optional
	Algorithm string `json:"algorithm,omitempty"`
	// size is the size of the key in bits.
	// +optional
	Size int32 `json:"size,omitempty"`
	// phase is the phase of the key.
	// +optional
	// +kubebuilder:validation:Enum=Active;ValidationOnly;Removing
	Phase string `json:"phase,omitempty"`
	// demotedAt is when the key stopped signing.
	// +optional
	DemotedAt *metav1.Time `json:"demotedAt,omitempty"`
	// retireEligibleAt is when the retention of the demoted key started.
	// +optional
	RetireEligibleAt *metav1.Time `json:"retireEligibleAt,omitempty"`
}

// EngineTLSStatus is the state of encryption between gateway and engines.
type EngineTLSStatus struct {
	// secretName is the name of the Secret with the certificate.
	// +required
	SecretName string `json:"secretName"`
	// createdAt is when the certificate was created.
	// +required
	CreatedAt metav1.Time `json:"createdAt"`
	// reencrypting is true while the gateway encrypts traffic to the engines.
	// +optional
	Reencrypting bool `json:"reencrypting,omitempty"`
}

// GatewayTLSStatus is the state of encryption between clients and gateway.
type GatewayTLSStatus struct {
	// secretName is the name of the Secret with the certificate.
	// +required
	SecretName string `json:"secretName"`
	// createdAt is when the certificate was created.
	// +required
	CreatedAt metav1.Time `json:"createdAt"`
	// mode states whether clients present a certificate: TLS or MutualTLS.
	// +optional
	// +kubebuilder:validation:Enum=TLS;MutualTLS
	Mode string `json:"mode,omitempty"`
	// clientCAFingerprint is the fingerprint of the CA of client certificates.
	// +optional
	ClientCAFingerprint string `json:"clientCAFingerprint,omitempty"`
}

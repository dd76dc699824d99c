package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AuthSpec configures who may log in.
// +kubebuilder:validation:XValidation:rule="!self.enabled",message="spec.auth.enabled: this release of the engine operator does not support auth"
// +kubebuilder:validation:XValidation:rule="!self.enabled || has(self.local)",message="spec.auth.local is required when spec.auth.enabled is true"
// +kubebuilder:validation:XValidation:rule="self.enabled || (!has(self.local) && !has(self.oidc) && !has(self.preferredAuthorizationServer))",message="spec.auth: local, oidc and preferredAuthorizationServer must be absent when spec.auth.enabled is false"
type AuthSpec struct {
	// +optional
	// +kubebuilder:default=false
	Enabled bool `json:"enabled"`
	// PreferredAuthorizationServer is _local or the name of a provider.
	// +optional
	PreferredAuthorizationServer string `json:"preferredAuthorizationServer,omitempty"`
	// +optional
	Local *LocalAuthSpec `json:"local,omitempty"`
	// +optional
	OIDC *OIDCSpec `json:"oidc,omitempty"`
}

// LocalAuthSpec configures the instance's own authorization server.
type LocalAuthSpec struct {
	// +optional
	// +kubebuilder:default=admin_only
	// +kubebuilder:validation:Enum=admin_only;any_user
	PasswordLogin string `json:"passwordLogin,omitempty"`
	// +required
	Admin AdminSpec `json:"admin"`
	// +optional
	// +kubebuilder:default=ES384
	// +kubebuilder:validation:Enum=RS256;RS384;RS512;ES256;ES384;ES512
	// +kubebuilder:validation:XValidation:rule="oldSelf == '' || self == oldSelf",message="spec.auth.local.signingAlgorithm is immutable"
	SigningAlgorithm string `json:"signingAlgorithm,omitempty"`
	// +optional
	TokenExpiry string `json:"tokenExpiry,omitempty"`
	// +optional
	MaxTokenAge string `json:"maxTokenAge,omitempty"`
	// +optional
	ClockSkewTolerance string `json:"clockSkewTolerance,omitempty"`
	// +optional
	SigningKeys *SigningKeysSpec `json:"signingKeys,omitempty"`
}

// AdminSpec is the first user.
type AdminSpec struct {
	// +optional
	// +kubebuilder:default=firebolt
	Name string `json:"name,omitempty"`
	// Password is never made by the operator.
	// +required
	Password corev1.SecretKeySelector `json:"password"`
}

// SigningKeysSpec is where signing keys come from and how they rotate.
// +kubebuilder:validation:XValidation:rule="has(self.rotationInterval) == has(self.retainDuration)",message="spec.auth.local.signingKeys: rotationInterval and retainDuration must be set together"
type SigningKeysSpec struct {
	// +required
	CertManager CertManagerSpec `json:"certManager"`
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s')",message="rotationInterval must be a duration such as 90s, 5m or 1h30m, and not negative"
	RotationInterval *metav1.Duration `json:"rotationInterval,omitempty"`
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s')",message="retainDuration must be a duration such as 90s, 5m or 1h30m, and not negative"
	RetainDuration *metav1.Duration `json:"retainDuration,omitempty"`
}

// OIDCSpec lists foreign authorization servers.
type OIDCSpec struct {
	// +optional
	JWT *OIDCJWTSpec `json:"jwt,omitempty"`
	// +required
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	Providers []OIDCProvider `json:"providers"`
}

// OIDCJWTSpec bounds what foreign tokens may claim.
type OIDCJWTSpec struct {
	// +optional
	ClockSkewTolerance string `json:"clockSkewTolerance,omitempty"`
	// +optional
	MaxTokenAge string `json:"maxTokenAge,omitempty"`
}

// OIDCProvider is one foreign authorization server.
type OIDCProvider struct {
	// +required
	// +kubebuilder:validation:Pattern=`^[^_].*$`
	Name string `json:"name"`
	// +required
	// +kubebuilder:validation:Pattern=`^https://.+`
	DiscoveryURL string `json:"discoveryURL"`
	// +required
	UsernameMapping string `json:"usernameMapping"`
	// +optional
	Title string `json:"title,omitempty"`
	// +optional
	Audience string `json:"audience,omitempty"`
	// +optional
	JITProvisioning *JITProvisioningSpec `json:"jitProvisioning,omitempty"`
	// +optional
	JWKS *JWKSSpec `json:"jwks,omitempty"`
	// +optional
	Discovery *DiscoverySpec `json:"discovery,omitempty"`
}

// JITProvisioningSpec creates users at their first login.
type JITProvisioningSpec struct {
	// +optional
	// +kubebuilder:default=false
	Enabled bool `json:"enabled,omitempty"`
	// +optional
	// +listType=atomic
	DefaultRoles []string `json:"defaultRoles,omitempty"`
}

// JWKSSpec says how long a provider's keys are kept.
type JWKSSpec struct {
	// +optional
	CacheTTL string `json:"cacheTTL,omitempty"`
}

// DiscoverySpec says how often a provider's document is read.
type DiscoverySpec struct {
	// +optional
	RefreshInterval string `json:"refreshInterval,omitempty"`
}

// TLSSpec configures encryption.
type TLSSpec struct {
	// Gateway is the listener that clients reach.
	// +optional
	Gateway *TLSListenerSpec `json:"gateway,omitempty"`
	// Engine is the listener that the gateway reaches.
	// +optional
	Engine *TLSListenerSpec `json:"engine,omitempty"`
}

// TLSListenerSpec configures one listener.
// +kubebuilder:validation:XValidation:rule="!self.enabled",message="spec.tls: this release of the engine operator does not support tls on a listener (enabled: true)"
// +kubebuilder:validation:XValidation:rule="!self.enabled || (has(self.certManager) != has(self.secretRef))",message="spec.tls: exactly one of certManager and secretRef is required when the listener is enabled"
type TLSListenerSpec struct {
	// +optional
	// +kubebuilder:default=false
	Enabled bool `json:"enabled"`
	// +optional
	CertManager *CertManagerSpec `json:"certManager,omitempty"`
	// +optional
	SecretRef *corev1.LocalObjectReference `json:"secretRef,omitempty"`
	// +optional
	CRLSecretRef *corev1.LocalObjectReference `json:"crlSecretRef,omitempty"`
	// +optional
	ClientCASecretRef *corev1.LocalObjectReference `json:"clientCASecretRef,omitempty"`
	// +optional
	// +listType=atomic
	DNSNames []string `json:"dnsNames,omitempty"`
}

// CertManagerSpec is how cert-manager is asked for a certificate.
type CertManagerSpec struct {
	// +required
	IssuerRef IssuerRef `json:"issuerRef"`
	// +optional
	// +kubebuilder:default=ECDSA
	// +kubebuilder:validation:Enum=RSA;ECDSA
	Algorithm string `json:"algorithm,omitempty"`
	// +optional
	// +kubebuilder:default=384
	Size int32 `json:"size,omitempty"`
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s')",message="duration must be a duration such as 90s, 5m or 1h30m, and not negative"
	Duration *metav1.Duration `json:"duration,omitempty"`
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s')",message="renewBefore must be a duration such as 90s, 5m or 1h30m, and not negative"
	RenewBefore *metav1.Duration `json:"renewBefore,omitempty"`
}

// IssuerRef names a cert-manager issuer.
type IssuerRef struct {
	// +required
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
	// +optional
	// +kubebuilder:default=ClusterIssuer
	// +kubebuilder:validation:Enum=Issuer;ClusterIssuer
	Kind string `json:"kind,omitempty"`
}

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AuthSpec configures authentication.
// +kubebuilder:validation:XValidation:rule="!self.enabled",message="spec.auth.enabled: this release of the engine operator does not support auth"
// +kubebuilder:validation:XValidation:rule="!self.enabled || has(self.local)",message="spec.auth.local is required when spec.auth.enabled is true"
// +kubebuilder:validation:XValidation:rule="self.enabled || (!has(self.local) && !has(self.oidc) && !has(self.preferredAuthorizationServer))",message="spec.auth: local, oidc and preferredAuthorizationServer must be absent when spec.auth.enabled is false"
type AuthSpec struct {
	// enabled turns authentication on.
	// +optional
	// +kubebuilder:default=false
	Enabled bool `json:"enabled"`
	// preferredAuthorizationServer is _local or the name of a provider.
	// +optional
	PreferredAuthorizationServer string `json:"preferredAuthorizationServer,omitempty"`
	// local configures the authorization server of the instance.
	// +optional
	Local *LocalAuthSpec `json:"local,omitempty"`
	// oidc configures external authorization servers.
	// +optional
	OIDC *OIDCSpec `json:"oidc,omitempty"`
}

// LocalAuthSpec configures the authorization server of the instance.
type LocalAuthSpec struct {
	// passwordLogin defines who can log in with a password.
	// +optional
	// +kubebuilder:default=admin_only
	// +kubebuilder:validation:Enum=admin_only;any_user
	PasswordLogin string `json:"passwordLogin,omitempty"`
	// admin is the first user.
	// +required
	Admin AdminSpec `json:"admin"`
	// signingAlgorithm is the algorithm that signs tokens. It is immutable.
	// +optional
	// +kubebuilder:default=ES384
	// +kubebuilder:validation:Enum=RS256;RS384;RS512;ES256;ES384;ES512
	// +kubebuilder:validation:XValidation:rule="oldSelf == '' || self == oldSelf",message="spec.auth.local.signingAlgorithm is immutable"
	SigningAlgorithm string `json:"signingAlgorithm,omitempty"`
	// tokenExpiry is how long a token is valid. The engine defaults to 1h.
	// +optional
	TokenExpiry string `json:"tokenExpiry,omitempty"`
	// maxTokenAge is the maximum age of a token. The engine defaults to 1d.
	// +optional
	MaxTokenAge string `json:"maxTokenAge,omitempty"`
	// clockSkewTolerance is the tolerated difference of clocks. The engine defaults to 30s.
	// +optional
	ClockSkewTolerance string `json:"clockSkewTolerance,omitempty"`
	// signingKeys configures the source and rotation of signing keys.
	// +optional
	SigningKeys *SigningKeysSpec `json:"signingKeys,omitempty"`
}

// AdminSpec is the first user.
type AdminSpec struct {
	// name is the name of the user.
	// +optional
	// +kubebuilder:default=firebolt
	Name string `json:"name,omitempty"`
	// password references the Secret with the password. The operator never generates it.
	// +required
	Password corev1.SecretKeySelector `json:"password"`
}

// SigningKeysSpec configures the source and rotation of signing keys.
// +kubebuilder:validation:XValidation:rule="has(self.rotationInterval) == has(self.retainDuration)",message="spec.auth.local.signingKeys: rotationInterval and retainDuration must be set together"
type SigningKeysSpec struct {
	// certManager configures the certificates that provide the keys.
	// +required
	CertManager CertManagerSpec `json:"certManager"`
	// rotationInterval is the time between two rotations.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s')",message="rotationInterval must be a duration such as 90s, 5m or 1h30m, and not negative"
	RotationInterval *metav1.Duration `json:"rotationInterval,omitempty"`
	// retainDuration is how long a rotated key still validates tokens.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s')",message="retainDuration must be a duration such as 90s, 5m or 1h30m, and not negative"
	RetainDuration *metav1.Duration `json:"retainDuration,omitempty"`
}

// OIDCSpec lists external authorization servers.
type OIDCSpec struct {
	// jwt limits the tokens of the providers.
	// +optional
	JWT *OIDCJWTSpec `json:"jwt,omitempty"`
	// providers are the authorization servers.
	// +required
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	Providers []OIDCProvider `json:"providers"`
}

// OIDCJWTSpec limits the tokens of external authorization servers.
type OIDCJWTSpec struct {
	// clockSkewTolerance is the tolerated difference of clocks.
	// +optional
	ClockSkewTolerance string `json:"clockSkewTolerance,omitempty"`
	// maxTokenAge is the maximum age of a token.
	// +optional
	MaxTokenAge string `json:"maxTokenAge,omitempty"`
}

// OIDCProvider is one external authorization server.
type OIDCProvider struct {
	// name is the name of the provider.
	// +required
	// +kubebuilder:validation:Pattern=`^[^_].*$`
	Name string `json:"name"`
	// discoveryURL is the URL of the discovery document.
	// +required
	// +kubebuilder:validation:Pattern=`^https://.+`
	DiscoveryURL string `json:"discoveryURL"`
	// usernameMapping is the template that maps the claims of a token to a user name.
	// +required
	UsernameMapping string `json:"usernameMapping"`
	// title is the display name of the provider. The engine defaults to its name.
	// +optional
	Title string `json:"title,omitempty"`
	// audience is the audience that tokens must have. The engine defaults to the issuer URL of the instance.
	// +optional
	Audience string `json:"audience,omitempty"`
	// jitProvisioning configures the creation of users at their first login.
	// +optional
	JITProvisioning *JITProvisioningSpec `json:"jitProvisioning,omitempty"`
	// jwks configures how long keys of the provider are cached.
	// +optional
	JWKS *JWKSSpec `json:"jwks,omitempty"`
	// discovery configures how often the discovery document is read.
	// +optional
	Discovery *DiscoverySpec `json:"discovery,omitempty"`
}

// JITProvisioningSpec creates users at their first login.
type JITProvisioningSpec struct {
	// enabled turns the creation of users on.
	// +optional
	// +kubebuilder:default=false
	Enabled bool `json:"enabled,omitempty"`
	// defaultRoles are the roles of created users.
	// +optional
	// +listType=atomic
	DefaultRoles []string `json:"defaultRoles,omitempty"`
}

// JWKSSpec configures how long keys of a provider are cached.
type JWKSSpec struct {
	// cacheTTL is how long keys are cached. The engine defaults to 1h.
	// +optional
	CacheTTL string `json:"cacheTTL,omitempty"`
}

// DiscoverySpec configures how often the discovery document of a provider is read.
type DiscoverySpec struct {
	// refreshInterval is the time between two reads. The engine defaults to 1d.
	// +optional
	RefreshInterval string `json:"refreshInterval,omitempty"`
}

// TLSSpec configures encryption.
type TLSSpec struct {
	// gateway is the listener for clients.
	// +optional
	Gateway *TLSListenerSpec `json:"gateway,omitempty"`
	// engine is the listener for the gateway.
	// +optional
	Engine *TLSListenerSpec `json:"engine,omitempty"`
}

// TLSListenerSpec configures one listener.
// +kubebuilder:validation:XValidation:rule="!self.enabled",message="spec.tls: this release of the engine operator does not support tls on a listener (enabled: true)"
// +kubebuilder:validation:XValidation:rule="!self.enabled || (has(self.certManager) != has(self.secretRef))",message="spec.tls: exactly one of certManager and secretRef is required when the listener is enabled"
type TLSListenerSpec struct {
	// enabled turns TLS on.
	// +optional
	// +kubebuilder:default=false
	Enabled bool `json:"enabled"`
	// certManager configures a certificate from cert-manager.
	// +optional
	CertManager *CertManagerSpec `json:"certManager,omitempty"`
	// secretRef references a Secret with the certificate.
	// +optional
	SecretRef *corev1.LocalObjectReference `json:"secretRef,omitempty"`
	// crlSecretRef references a Secret with a certificate revocation list.
	// +optional
	CRLSecretRef *corev1.LocalObjectReference `json:"crlSecretRef,omitempty"`
	// clientCASecretRef references a Secret with the CA of client certificates.
	// +optional
	ClientCASecretRef *corev1.LocalObjectReference `json:"clientCASecretRef,omitempty"`
	// dnsNames are the DNS names of the certificate.
	// +optional
	// +listType=atomic
	DNSNames []string `json:"dnsNames,omitempty"`
}

// CertManagerSpec configures a certificate from cert-manager.
type CertManagerSpec struct {
	// issuerRef references the issuer.
	// +required
	IssuerRef IssuerRef `json:"issuerRef"`
	// algorithm is the algorithm of the private key.
	// +optional
	// +kubebuilder:default=ECDSA
	// +kubebuilder:validation:Enum=RSA;ECDSA
	Algorithm string `json:"algorithm,omitempty"`
	// size is the size of the private key in bits.
	// +optional
	// +kubebuilder:default=384
	Size int32 `json:"size,omitempty"`
	// duration is the validity of the certificate.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s')",message="duration must be a duration such as 90s, 5m or 1h30m, and not negative"
	Duration *metav1.Duration `json:"duration,omitempty"`
	// renewBefore is how long before its expiry the certificate is renewed.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s')",message="renewBefore must be a duration such as 90s, 5m or 1h30m, and not negative"
	RenewBefore *metav1.Duration `json:"renewBefore,omitempty"`
}

// IssuerRef references a cert-manager issuer.
type IssuerRef struct {
	// name is the name of the issuer.
	// +required
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
	// kind is the kind of the issuer.
	// +optional
	// +kubebuilder:default=ClusterIssuer
	// +kubebuilder:validation:Enum=Issuer;ClusterIssuer
	Kind string `json:"kind,omitempty"`
}

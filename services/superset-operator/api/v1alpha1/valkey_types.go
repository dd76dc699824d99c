package v1alpha1

import corev1 "k8s.io/api/core/v1"

// ValkeySpec is a Valkey or Redis server and what Superset uses it for.
// Sections that are unset are on, with their defaults.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.password) && has(self.passwordFrom))",message="valkey.password and valkey.passwordFrom are mutually exclusive"
type ValkeySpec struct {
	Host string `json:"host"`
	// +kubebuilder:default=6379
	// +optional
	Port *int32 `json:"port,omitempty"`
	// +optional
	Username *string `json:"username,omitempty"`
	// Password is inline; Development only.
	// +optional
	Password *string `json:"password,omitempty"`
	// +optional
	PasswordFrom *corev1.SecretKeySelector `json:"passwordFrom,omitempty"`
	// SSL turns on TLS.
	// +optional
	SSL *ValkeySSLSpec `json:"ssl,omitempty"`

	// +optional
	Cache *ValkeyCacheSpec `json:"cache,omitempty"`
	// +optional
	DataCache *ValkeyCacheSpec `json:"dataCache,omitempty"`
	// +optional
	FilterStateCache *ValkeyCacheSpec `json:"filterStateCache,omitempty"`
	// +optional
	ExploreFormDataCache *ValkeyCacheSpec `json:"exploreFormDataCache,omitempty"`
	// +optional
	ThumbnailCache *ValkeyCacheSpec `json:"thumbnailCache,omitempty"`
	// +optional
	DistributedCoordination *ValkeyCacheSpec `json:"distributedCoordination,omitempty"`
	// +optional
	CeleryBroker *ValkeyCelerySpec `json:"celeryBroker,omitempty"`
	// +optional
	CeleryResultBackend *ValkeyCelerySpec `json:"celeryResultBackend,omitempty"`
	// +optional
	ResultsBackend *ValkeyResultsBackendSpec `json:"resultsBackend,omitempty"`
}

// ValkeySSLSpec configures TLS; the files are paths inside the containers.
type ValkeySSLSpec struct {
	// +kubebuilder:default=required
	// +kubebuilder:validation:Enum=required;optional;none
	// +optional
	CertRequired *string `json:"certRequired,omitempty"`
	// +optional
	KeyFile *string `json:"keyFile,omitempty"`
	// +optional
	CertFile *string `json:"certFile,omitempty"`
	// +optional
	CACertFile *string `json:"caCertFile,omitempty"`
}

// ValkeyCacheSpec is one of Superset's caches.
type ValkeyCacheSpec struct {
	// +optional
	Disabled *bool `json:"disabled,omitempty"`
	// +optional
	Database *int32 `json:"database,omitempty"`
	// +optional
	KeyPrefix *string `json:"keyPrefix,omitempty"`
	// DefaultTimeout is in seconds.
	// +optional
	DefaultTimeout *int32 `json:"defaultTimeout,omitempty"`
}

// ValkeyCelerySpec is Celery's broker or result backend.
type ValkeyCelerySpec struct {
	// +optional
	Disabled *bool `json:"disabled,omitempty"`
	// +optional
	Database *int32 `json:"database,omitempty"`
}

// ValkeyResultsBackendSpec is where asynchronous queries leave their results.
type ValkeyResultsBackendSpec struct {
	// +optional
	Disabled *bool `json:"disabled,omitempty"`
	// +optional
	Database *int32 `json:"database,omitempty"`
	// +optional
	KeyPrefix *string `json:"keyPrefix,omitempty"`
}

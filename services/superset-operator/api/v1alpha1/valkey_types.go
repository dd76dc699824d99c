package v1alpha1

import corev1 "k8s.io/api/core/v1"

// ValkeySpec is a Valkey or Redis server and what Superset uses it for. Sections that are unset are on, with their
// defaults. Keys begin with the Superset's name, so that several installations may share a server.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.password) && has(self.passwordFrom))",message="valkey.password and valkey.passwordFrom are mutually exclusive"
type ValkeySpec struct {
	// Host name or address of the server.
	Host string `json:"host"`
	// Port of the server.
	// +kubebuilder:default=6379
	// +optional
	Port *int32 `json:"port,omitempty"`
	// User to log in as; the server's default user when unset.
	// +optional
	Username *string `json:"username,omitempty"`
	// Password, inline. Only allowed in the Development environment.
	// +optional
	Password *string `json:"password,omitempty"`
	// Secret that holds the password.
	// +optional
	PasswordFrom *corev1.SecretKeySelector `json:"passwordFrom,omitempty"`
	// Turns on TLS, also when it is empty.
	// +optional
	SSL *ValkeySSLSpec `json:"ssl,omitempty"`

	// General cache (CACHE_CONFIG): database 1, prefix superset_, 300 s.
	// +optional
	Cache *ValkeyCacheSpec `json:"cache,omitempty"`
	// Results of chart queries (DATA_CACHE_CONFIG): database 2, prefix superset_data_, 86400 s.
	// +optional
	DataCache *ValkeyCacheSpec `json:"dataCache,omitempty"`
	// State of dashboard filters (FILTER_STATE_CACHE_CONFIG): database 3, prefix superset_filter_, 3600 s.
	// +optional
	FilterStateCache *ValkeyCacheSpec `json:"filterStateCache,omitempty"`
	// State of charts that are being edited (EXPLORE_FORM_DATA_CACHE_CONFIG): database 4, prefix superset_explore_, 3600 s.
	// +optional
	ExploreFormDataCache *ValkeyCacheSpec `json:"exploreFormDataCache,omitempty"`
	// Thumbnails (THUMBNAIL_CACHE_CONFIG): database 5, prefix superset_thumbnail_, 3600 s.
	// +optional
	ThumbnailCache *ValkeyCacheSpec `json:"thumbnailCache,omitempty"`
	// Locks and messages between processes (DISTRIBUTED_COORDINATION_CONFIG): database 7, prefix coordination_, 300 s.
	// +optional
	DistributedCoordination *ValkeyCacheSpec `json:"distributedCoordination,omitempty"`
	// Queue between the web server, the scheduler and the workers (broker_url): database 0.
	// +optional
	CeleryBroker *ValkeyCelerySpec `json:"celeryBroker,omitempty"`
	// Where Celery keeps the state of its tasks (result_backend): database 0.
	// +optional
	CeleryResultBackend *ValkeyCelerySpec `json:"celeryResultBackend,omitempty"`
	// Where asynchronous queries leave their results (RESULTS_BACKEND): database 6, prefix superset_results_.
	// +optional
	ResultsBackend *ValkeyResultsBackendSpec `json:"resultsBackend,omitempty"`
}

// ValkeySSLSpec configures TLS. The files are paths inside the containers, where a volume has to be mounted.
type ValkeySSLSpec struct {
	// Whether the server's certificate is checked: required, optional or none.
	// +kubebuilder:default=required
	// +kubebuilder:validation:Enum=required;optional;none
	// +optional
	CertRequired *string `json:"certRequired,omitempty"`
	// Path of the client's private key.
	// +optional
	KeyFile *string `json:"keyFile,omitempty"`
	// Path of the client's certificate.
	// +optional
	CertFile *string `json:"certFile,omitempty"`
	// Path of the certificates that the server's is checked against; those of the image when unset.
	// +optional
	CACertFile *string `json:"caCertFile,omitempty"`
}

// ValkeyCacheSpec is one of Superset's caches. Each has defaults of its own.
type ValkeyCacheSpec struct {
	// Leaves the cache to Superset's own default.
	// +optional
	Disabled *bool `json:"disabled,omitempty"`
	// Number of the database on the server.
	// +optional
	Database *int32 `json:"database,omitempty"`
	// What keys begin with, after the Superset's name and an underscore.
	// +optional
	KeyPrefix *string `json:"keyPrefix,omitempty"`
	// Seconds after which an entry is dropped.
	// +optional
	DefaultTimeout *int32 `json:"defaultTimeout,omitempty"`
}

// ValkeyCelerySpec is Celery's broker or result backend.
type ValkeyCelerySpec struct {
	// Leaves the setting out, for example because spec.config has another one.
	// +optional
	Disabled *bool `json:"disabled,omitempty"`
	// Number of the database on the server.
	// +optional
	Database *int32 `json:"database,omitempty"`
}

// ValkeyResultsBackendSpec is where asynchronous queries leave their results.
type ValkeyResultsBackendSpec struct {
	// Leaves the setting out, for example because spec.config has another one.
	// +optional
	Disabled *bool `json:"disabled,omitempty"`
	// Number of the database on the server.
	// +optional
	Database *int32 `json:"database,omitempty"`
	// What keys begin with, after the Superset's name and an underscore.
	// +optional
	KeyPrefix *string `json:"keyPrefix,omitempty"`
}

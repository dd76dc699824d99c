package v1alpha1

import corev1 "k8s.io/api/core/v1"

// DatabaseType is a type of database server.
//
// +kubebuilder:validation:Enum=PostgreSQL;MySQL
type DatabaseType string

// Database types.
const (
	// PostgreSQL has the default port 5432.
	PostgreSQL DatabaseType = "PostgreSQL"
	// MySQL, which includes MariaDB, has the default port 3306.
	MySQL DatabaseType = "MySQL"
)

// MetastoreSpec is Superset's metadata database: either a complete URI, or host, database and username with an
// optional password. Without any of them, spec.config must configure the database.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.uri) && has(self.uriFrom))",message="metastore.uri and metastore.uriFrom are mutually exclusive"
// +kubebuilder:validation:XValidation:rule="!(has(self.password) && has(self.passwordFrom))",message="metastore.password and metastore.passwordFrom are mutually exclusive"
// +kubebuilder:validation:XValidation:rule="!has(self.uri) || !(has(self.host) || has(self.database) || has(self.username) || has(self.password) || has(self.passwordFrom) || has(self.port) || has(self.driver))",message="metastore.uri and the structured metastore fields are mutually exclusive"
// +kubebuilder:validation:XValidation:rule="!has(self.uriFrom) || !(has(self.host) || has(self.database) || has(self.username) || has(self.password) || has(self.passwordFrom) || has(self.port) || has(self.driver))",message="metastore.uriFrom and the structured metastore fields are mutually exclusive"
// +kubebuilder:validation:XValidation:rule="has(self.host) || !(has(self.database) || has(self.username) || has(self.password) || has(self.passwordFrom) || has(self.port) || has(self.driver))",message="structured metastore fields require host to be set"
// +kubebuilder:validation:XValidation:rule="!has(self.host) || (has(self.database) && has(self.username))",message="metastore.host requires database and username"
// +kubebuilder:validation:XValidation:rule="!has(self.createDatabase) || !self.createDatabase || (has(self.host) && !has(self.uri) && !has(self.uriFrom))",message="metastore.createDatabase requires structured metastore (host, database, username)"
type MetastoreSpec struct {
	// uri is a complete SQLAlchemy URI, inline. It is only allowed in the Development environment. It excludes the
	// structured fields.
	// +optional
	URI *string `json:"uri,omitempty"`
	// uriFrom references the Secret that contains a complete SQLAlchemy URI. It excludes the structured fields.
	// +optional
	URIFrom *corev1.SecretKeySelector `json:"uriFrom,omitempty"`
	// type is the type of the database server. It determines the default driver and port, and the tools of
	// createDatabase and clone.
	// +kubebuilder:default=PostgreSQL
	// +optional
	Type *DatabaseType `json:"type,omitempty"`
	// driver is the SQLAlchemy driver, which the image must contain. Defaults to psycopg2 for PostgreSQL and mysqldb
	// for MySQL.
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_]+$`
	// +optional
	Driver *string `json:"driver,omitempty"`
	// host is the host name or address of the server. It requires database and username.
	// +optional
	Host *string `json:"host,omitempty"`
	// port is the port of the server. Defaults to 5432 for PostgreSQL and 3306 for MySQL.
	// +optional
	Port *int32 `json:"port,omitempty"`
	// database is the name of the database, without ? and @, which need uriFrom. It requires host.
	// +optional
	Database *string `json:"database,omitempty"`
	// username is the user to log in as. It requires host.
	// +optional
	Username *string `json:"username,omitempty"`
	// password is the password, inline. It is only allowed in the Development environment.
	// +optional
	Password *string `json:"password,omitempty"`
	// passwordFrom references the Secret that contains the password.
	// +optional
	PasswordFrom *corev1.SecretKeySelector `json:"passwordFrom,omitempty"`
	// createDatabase creates the database before the task migrate if it does not exist. The user needs the permission
	// to create it. It requires the structured fields. Defaults to false.
	// +optional
	CreateDatabase *bool `json:"createDatabase,omitempty"`
}

// ValkeySpec is a Valkey or Redis server and how Superset uses it. Unset sections are enabled with their defaults.
// On a shared server, give each installation a database of its own for celeryBroker, celeryResultBackend and
// distributedCoordination: with the same ones they run each other's tasks. The keys of all others begin with the name of
// the Superset, so installations with the same name in two namespaces need databases of their own for these too.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.password) && has(self.passwordFrom))",message="valkey.password and valkey.passwordFrom are mutually exclusive"
type ValkeySpec struct {
	// host is the host name or address of the server.
	Host string `json:"host"`
	// port is the port of the server.
	// +kubebuilder:default=6379
	// +optional
	Port *int32 `json:"port,omitempty"`
	// username is the user to log in as. Defaults to the default user of the server.
	// +optional
	Username *string `json:"username,omitempty"`
	// password is the password, inline. It is only allowed in the Development environment.
	// +optional
	Password *string `json:"password,omitempty"`
	// passwordFrom references the Secret that contains the password.
	// +optional
	PasswordFrom *corev1.SecretKeySelector `json:"passwordFrom,omitempty"`
	// ssl enables TLS; an empty object is enough.
	// +optional
	SSL *ValkeySSLSpec `json:"ssl,omitempty"`

	// cache is the general cache (CACHE_CONFIG): database 1, prefix superset_, 300 s.
	// +optional
	Cache *ValkeyCacheSpec `json:"cache,omitempty"`
	// dataCache stores the results of chart queries (DATA_CACHE_CONFIG): database 2, prefix superset_data_, 86400 s.
	// +optional
	DataCache *ValkeyCacheSpec `json:"dataCache,omitempty"`
	// filterStateCache stores the state of dashboard filters (FILTER_STATE_CACHE_CONFIG): database 3, prefix
	// superset_filter_, 90 days since the last use.
	// +optional
	FilterStateCache *ValkeyCacheSpec `json:"filterStateCache,omitempty"`
	// exploreFormDataCache stores the state of charts that are being edited (EXPLORE_FORM_DATA_CACHE_CONFIG): database
	// 4, prefix superset_explore_, 7 days since the last use.
	// +optional
	ExploreFormDataCache *ValkeyCacheSpec `json:"exploreFormDataCache,omitempty"`
	// thumbnailCache stores thumbnails (THUMBNAIL_CACHE_CONFIG): database 5, prefix superset_thumbnail_, 7 days.
	// +optional
	ThumbnailCache *ValkeyCacheSpec `json:"thumbnailCache,omitempty"`
	// distributedCoordination stores locks and messages between processes (DISTRIBUTED_COORDINATION_CONFIG): database
	// 7, prefix coordination_, 300 s.
	// +optional
	DistributedCoordination *ValkeyCacheSpec `json:"distributedCoordination,omitempty"`
	// celeryBroker is the queue between the web server, the scheduler and the workers (broker_url): database 0.
	// +optional
	CeleryBroker *ValkeyCelerySpec `json:"celeryBroker,omitempty"`
	// celeryResultBackend stores the state of Celery tasks (result_backend): database 0.
	// +optional
	CeleryResultBackend *ValkeyCelerySpec `json:"celeryResultBackend,omitempty"`
	// resultsBackend stores the results of asynchronous queries (RESULTS_BACKEND): database 6, prefix
	// superset_results_.
	// +optional
	ResultsBackend *ValkeyResultsBackendSpec `json:"resultsBackend,omitempty"`
}

// ValkeySSLSpec configures TLS. The files are paths inside the containers, where a volume must be mounted.
type ValkeySSLSpec struct {
	// certRequired defines how the certificate of the server is verified: required verifies it and its host name, optional
	// the certificate only, none nothing.
	// +kubebuilder:default=required
	// +kubebuilder:validation:Enum=required;optional;none
	// +optional
	CertRequired *string `json:"certRequired,omitempty"`
	// keyFile is the path of the client's private key.
	// +optional
	KeyFile *string `json:"keyFile,omitempty"`
	// certFile is the path of the client's certificate.
	// +optional
	CertFile *string `json:"certFile,omitempty"`
	// caCertFile is the path of the CA certificates that verify the server. Defaults to those of the image.
	// +optional
	CACertFile *string `json:"caCertFile,omitempty"`
}

// ValkeyCacheSpec is one of Superset's caches. Each has its own defaults.
type ValkeyCacheSpec struct {
	// disabled leaves the cache to Superset's own default.
	// +optional
	Disabled *bool `json:"disabled,omitempty"`
	// database is the number of the database on the server.
	// +optional
	Database *int32 `json:"database,omitempty"`
	// keyPrefix is the prefix of the keys, after the name of the Superset and an underscore.
	// +optional
	KeyPrefix *string `json:"keyPrefix,omitempty"`
	// defaultTimeout is the number of seconds after which an entry expires.
	// +optional
	DefaultTimeout *int32 `json:"defaultTimeout,omitempty"`
}

// ValkeyCelerySpec is the broker or result backend of Celery.
type ValkeyCelerySpec struct {
	// disabled omits the setting, for example because spec.config sets it.
	// +optional
	Disabled *bool `json:"disabled,omitempty"`
	// database is the number of the database on the server.
	// +optional
	Database *int32 `json:"database,omitempty"`
}

// ValkeyResultsBackendSpec is where asynchronous queries store their results.
type ValkeyResultsBackendSpec struct {
	// disabled omits the setting, for example because spec.config sets it.
	// +optional
	Disabled *bool `json:"disabled,omitempty"`
	// database is the number of the database on the server.
	// +optional
	Database *int32 `json:"database,omitempty"`
	// keyPrefix is the prefix of the keys, after the name of the Superset and an underscore.
	// +optional
	KeyPrefix *string `json:"keyPrefix,omitempty"`
}

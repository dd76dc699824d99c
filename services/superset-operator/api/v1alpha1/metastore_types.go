package v1alpha1

import corev1 "k8s.io/api/core/v1"

// DatabaseType is a kind of database server.
//
// +kubebuilder:validation:Enum=PostgreSQL;MySQL
type DatabaseType string

// Database types.
const (
	PostgreSQL DatabaseType = "PostgreSQL"
	MySQL      DatabaseType = "MySQL"
)

// MetastoreSpec is Superset's metadata database: either a complete URI, or
// host, database and username with an optional password.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.uri) && has(self.uriFrom))",message="metastore.uri and metastore.uriFrom are mutually exclusive"
// +kubebuilder:validation:XValidation:rule="!(has(self.password) && has(self.passwordFrom))",message="metastore.password and metastore.passwordFrom are mutually exclusive"
// +kubebuilder:validation:XValidation:rule="!has(self.uri) || !(has(self.host) || has(self.database) || has(self.username) || has(self.password) || has(self.passwordFrom) || has(self.port) || has(self.driver))",message="metastore.uri and the structured metastore fields are mutually exclusive"
// +kubebuilder:validation:XValidation:rule="!has(self.uriFrom) || !(has(self.host) || has(self.database) || has(self.username) || has(self.password) || has(self.passwordFrom) || has(self.port) || has(self.driver))",message="metastore.uriFrom and the structured metastore fields are mutually exclusive"
// +kubebuilder:validation:XValidation:rule="has(self.host) || !(has(self.database) || has(self.username) || has(self.password) || has(self.passwordFrom) || has(self.port) || has(self.driver))",message="structured metastore fields require host to be set"
// +kubebuilder:validation:XValidation:rule="!has(self.host) || (has(self.database) && has(self.username))",message="metastore.host requires database and username"
// +kubebuilder:validation:XValidation:rule="!has(self.createDatabase) || !self.createDatabase || (has(self.host) && !has(self.uri) && !has(self.uriFrom))",message="metastore.createDatabase requires structured metastore (host, database, username)"
type MetastoreSpec struct {
	// URI is a complete SQLAlchemy URI, inline; Development only.
	// +optional
	URI *string `json:"uri,omitempty"`
	// URIFrom names the Secret that holds a complete SQLAlchemy URI.
	// +optional
	URIFrom *corev1.SecretKeySelector `json:"uriFrom,omitempty"`
	// +kubebuilder:default=PostgreSQL
	// +optional
	Type *DatabaseType `json:"type,omitempty"`
	// Driver is the SQLAlchemy driver; psycopg2 or mysqldb when unset.
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_]+$`
	// +optional
	Driver *string `json:"driver,omitempty"`
	// +optional
	Host *string `json:"host,omitempty"`
	// Port is 5432 or 3306 when unset.
	// +optional
	Port *int32 `json:"port,omitempty"`
	// +optional
	Database *string `json:"database,omitempty"`
	// +optional
	Username *string `json:"username,omitempty"`
	// Password is inline; Development only.
	// +optional
	Password *string `json:"password,omitempty"`
	// +optional
	PasswordFrom *corev1.SecretKeySelector `json:"passwordFrom,omitempty"`
	// CreateDatabase creates the database before the migrate task.
	// +optional
	CreateDatabase *bool `json:"createDatabase,omitempty"`
}

package v1alpha1

import corev1 "k8s.io/api/core/v1"

// DatabaseType is a kind of database server.
//
// +kubebuilder:validation:Enum=PostgreSQL;MySQL
type DatabaseType string

// Database types.
const (
	// PostgreSQL has the default port 5432.
	PostgreSQL DatabaseType = "PostgreSQL"
	// MySQL, and MariaDB, have the default port 3306.
	MySQL DatabaseType = "MySQL"
)

// MetastoreSpec is Superset's metadata database: either a complete URI, or host, database and username with an optional
// password. Without any of them, spec.config has to say where the database is.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.uri) && has(self.uriFrom))",message="metastore.uri and metastore.uriFrom are mutually exclusive"
// +kubebuilder:validation:XValidation:rule="!(has(self.password) && has(self.passwordFrom))",message="metastore.password and metastore.passwordFrom are mutually exclusive"
// +kubebuilder:validation:XValidation:rule="!has(self.uri) || !(has(self.host) || has(self.database) || has(self.username) || has(self.password) || has(self.passwordFrom) || has(self.port) || has(self.driver))",message="metastore.uri and the structured metastore fields are mutually exclusive"
// +kubebuilder:validation:XValidation:rule="!has(self.uriFrom) || !(has(self.host) || has(self.database) || has(self.username) || has(self.password) || has(self.passwordFrom) || has(self.port) || has(self.driver))",message="metastore.uriFrom and the structured metastore fields are mutually exclusive"
// +kubebuilder:validation:XValidation:rule="has(self.host) || !(has(self.database) || has(self.username) || has(self.password) || has(self.passwordFrom) || has(self.port) || has(self.driver))",message="structured metastore fields require host to be set"
// +kubebuilder:validation:XValidation:rule="!has(self.host) || (has(self.database) && has(self.username))",message="metastore.host requires database and username"
// +kubebuilder:validation:XValidation:rule="!has(self.createDatabase) || !self.createDatabase || (has(self.host) && !has(self.uri) && !has(self.uriFrom))",message="metastore.createDatabase requires structured metastore (host, database, username)"
type MetastoreSpec struct {
	// Complete SQLAlchemy URI, inline. Only allowed in the Development environment. Excludes the structured fields.
	// +optional
	URI *string `json:"uri,omitempty"`
	// Secret that holds a complete SQLAlchemy URI. Excludes the structured fields.
	// +optional
	URIFrom *corev1.SecretKeySelector `json:"uriFrom,omitempty"`
	// Kind of the database server. It decides on the default driver and port, and on the tools of createDatabase and clone.
	// +kubebuilder:default=PostgreSQL
	// +optional
	Type *DatabaseType `json:"type,omitempty"`
	// SQLAlchemy driver, which the image must contain; psycopg2 for PostgreSQL and mysqldb for MySQL when unset.
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_]+$`
	// +optional
	Driver *string `json:"driver,omitempty"`
	// Host name or address of the server. Requires database and username.
	// +optional
	Host *string `json:"host,omitempty"`
	// Port of the server; 5432 for PostgreSQL and 3306 for MySQL when unset.
	// +optional
	Port *int32 `json:"port,omitempty"`
	// Name of the database. Requires host.
	// +optional
	Database *string `json:"database,omitempty"`
	// User to log in as. Requires host.
	// +optional
	Username *string `json:"username,omitempty"`
	// Password, inline. Only allowed in the Development environment.
	// +optional
	Password *string `json:"password,omitempty"`
	// Secret that holds the password.
	// +optional
	PasswordFrom *corev1.SecretKeySelector `json:"passwordFrom,omitempty"`
	// Creates the database before the migrate task, if it is not there. The user needs the right to do so. Requires the
	// structured fields; false when unset.
	// +optional
	CreateDatabase *bool `json:"createDatabase,omitempty"`
}

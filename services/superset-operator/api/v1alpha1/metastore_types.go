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
	// database is the name of the database. It requires host.
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

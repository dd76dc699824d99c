// Package scripts holds the programs that copy and create databases, the one that
// creates an administrator, the preflight, and the one that checks and changes the key of stored
// secrets. The last two are Python, run by the image's own; the others are POSIX shell. They run under whatever
// shell an image has: dash, busybox ash or bash. The configuration of gunicorn is Python as well.
//
// A script takes everything from environment variables, and nothing from a user is
// ever part of its text:
//
//   - SUPERSET_OPERATOR__DB_HOST, _PORT, _NAME, _USER and, unless there is none, _PASS: the target, which is Superset's
//     metastore.
//   - SUPERSET_OPERATOR__CLONE_SRC_HOST, _PORT, _DB, _USER and _PASS: the database to copy.
//   - SUPERSET_OPERATOR__CLONE_EXCLUDE_TABLE_0 and up: tables to leave out. Names, not patterns; for PostgreSQL a
//     schema and a dot may precede the name.
//   - SUPERSET_OPERATOR__CLONE_EXCLUDE_TABLE_DATA_0 and up: tables to copy without their rows.
//   - SUPERSET_OPERATOR__CLONE_POST_SQL_0 and up: SQL to run in the copy, one entry after the other.
//   - SUPERSET_OPERATOR__ADMIN_USERNAME, _PASSWORD, _FIRST_NAME, _LAST_NAME and _EMAIL: the administrator to create.
//
// On any failure a script exits with a status other than zero and prints the cause on
// standard error. A later release may change the text freely: it is not an input of
// any checksum, so no task runs again for it.
package scripts

import (
	_ "embed"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
)

var (
	//go:embed clone-postgresql.sh
	clonePostgreSQL string
	//go:embed clone-mysql.sh
	cloneMySQL string
	//go:embed create-database-postgresql.sh
	createPostgreSQL string
	//go:embed create-database-mysql.sh
	createMySQL string
	//go:embed preflight.py
	preflight string
	//go:embed secret-keys.py
	secretKeys string
	//go:embed gunicorn.py
	gunicorn string
	//go:embed create-admin.sh
	initWithAdmin string
)

// Clone returns the script that copies a database over the metastore.
func Clone(kind v1alpha1.DatabaseType) string {
	if kind == v1alpha1.MySQL {
		return cloneMySQL
	}
	return clonePostgreSQL
}

// CreateDatabase returns the script that creates the metastore's database unless it exists.
func CreateDatabase(kind v1alpha1.DatabaseType) string {
	if kind == v1alpha1.MySQL {
		return createMySQL
	}
	return createPostgreSQL
}

// Preflight returns the program that checks the image, the metastore and the broker. Its argument is once, or wait for
// servers that are about to start.
func Preflight() string { return preflight }

// SecretKeys returns the program that checks and changes the key of stored secrets. Its arguments are check or rotate, and
// the file to report to.
func SecretKeys() string { return secretKeys }

// Gunicorn returns the configuration of the web server.
func Gunicorn() string { return gunicorn }

// InitWithAdmin returns the script that initializes Superset and creates the administrator.
func InitWithAdmin() string { return initWithAdmin }

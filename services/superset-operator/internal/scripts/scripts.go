// Package scripts embeds the programs of the tasks and the configuration of gunicorn. The programs that copy a
// database, create a database or create an administrator are POSIX shell and run under dash, busybox ash and bash.
// The preflight, the program that checks and changes the key of stored secrets, and the configuration of gunicorn are
// Python and run with the interpreter of the Superset image.
//
// Scripts read their input from environment variables and never contain text of a user:
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
// On any failure a script exits with a status other than zero and prints the cause on standard error. The text is not
// an input of any checksum, so a release that changes it does not run a task again.
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
	//go:embed preflight_servers.py
	preflightServers string
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

// Preflight returns the program that checks the image, the metastore and the broker. Its argument is "once", or
// "wait" to wait for servers that are about to start.
func Preflight() string { return preflight }

// PreflightServers returns the module superset_preflight_servers, which that program imports from its directory.
func PreflightServers() string { return preflightServers }

// SecretKeys returns the program that checks and changes the key of stored secrets. Its arguments are "check" or
// "rotate", and the file for its report.
func SecretKeys() string { return secretKeys }

// Gunicorn returns the configuration of the web server.
func Gunicorn() string { return gunicorn }

// InitWithAdmin returns the script that initializes Superset and creates the administrator.
func InitWithAdmin() string { return initWithAdmin }

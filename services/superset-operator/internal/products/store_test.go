//go:build products

package products

import (
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/flotilla-dev/flotilla/libs/testkit/mysqlserver"
	"github.com/flotilla-dev/flotilla/libs/testkit/mysqltest"
	"github.com/flotilla-dev/flotilla/libs/testkit/postgres"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
)

// store is an empty database for a metastore.
type store struct {
	kind                     v1alpha1.DatabaseType
	host                     string
	port                     int32
	database, user, password string
	query                    func(t *testing.T, statements string) string
}

func stores() map[string]func(*testing.T) store {
	return map[string]func(*testing.T) store{"PostgreSQL": onPostgreSQL, "MySQL": onMySQL}
}

// releaseOn maps each kind of database to the release of the tests that do not need all four pairs.
var releaseOn = map[string]string{"PostgreSQL": release61, "MySQL": release60}

func (s store) spec() *v1alpha1.MetastoreSpec {
	return &v1alpha1.MetastoreSpec{
		Type: &s.kind, Host: &s.host, Port: &s.port, Database: &s.database, Username: &s.user, PasswordFrom: key("db"),
	}
}

func onPostgreSQL(t *testing.T) store {
	t.Helper()
	server := postgres.Shared(t)
	// The name of a database is not unquoted, in contrast to user and password.
	name := server.Database(t) + "$%24"
	server.Query(t, "postgres", "CREATE DATABASE "+postgres.Identifier(name))
	server.DropAtEnd(t, name)
	s := store{
		kind: v1alpha1.PostgreSQL, host: server.Host, port: int32(server.Port), database: name,
		user: server.User, password: server.Password,
	}
	s.query = func(t *testing.T, statements string) string { return server.Query(t, s.database, statements) }
	return s
}

func onMySQL(t *testing.T) store {
	t.Helper()
	// MariaDB cannot be a metastore: it does not support the CREATE SEQUENCE syntax of SQLAlchemy.
	login, err := mysql.ParseDSN(mysqltest.DSNOf(t, mysqlserver.MySQL))
	if err != nil {
		t.Fatal(err)
	}
	host, port, _ := strings.Cut(login.Addr, ":")
	number, err := strconv.ParseInt(port, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	login.MultiStatements = true
	connector, err := mysql.NewConnector(login)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	t.Cleanup(func() { _ = db.Close() })
	s := store{
		kind: v1alpha1.MySQL, host: host, port: int32(number), database: login.DBName, user: login.User, password: login.Passwd,
	}
	s.query = func(t *testing.T, statements string) string {
		t.Helper()
		out, err := rows(t, db, statements)
		if err != nil {
			t.Fatalf("%s: %v", statements, err)
		}
		return out
	}
	return s
}

// rows returns the rows of the last statement, one a line, columns separated by |.
func rows(t *testing.T, db *sql.DB, statements string) (string, error) {
	t.Helper()
	result, err := db.QueryContext(t.Context(), statements)
	if err != nil {
		return "", err
	}
	defer result.Close()
	var out []string
	for more := true; more; more = result.NextResultSet() {
		columns, err := result.Columns()
		if err != nil {
			return "", err
		}
		for result.Next() {
			values := make([]sql.NullString, len(columns))
			targets := make([]any, len(columns))
			for i := range values {
				targets[i] = &values[i]
			}
			if err := result.Scan(targets...); err != nil {
				return "", err
			}
			row := make([]string, len(columns))
			for i, v := range values {
				row[i] = v.String
			}
			out = append(out, strings.Join(row, "|"))
		}
	}
	return strings.Join(out, "\n"), result.Err()
}

// encryptedColumns are the columns of each table that hold secrets.
var encryptedColumns = map[string][]string{
	"dbs":                         {"password", "encrypted_extra", "server_cert"},
	"ssh_tunnels":                 {"username", "password", "private_key", "private_key_password"},
	"database_user_oauth2_tokens": {"access_token", "refresh_token"},
}

// save keeps a copy of all stored secrets for restore.
func (s store) save(t *testing.T) {
	t.Helper()
	for table, columns := range encryptedColumns {
		s.query(t, "CREATE TABLE saved_"+table+" AS SELECT id, "+strings.Join(columns, ", ")+" FROM "+table)
	}
}

// restore puts the saved secrets back.
func (s store) restore(t *testing.T) {
	t.Helper()
	for table, columns := range encryptedColumns {
		var changes []string
		for _, column := range columns {
			changes = append(changes, fmt.Sprintf("%[1]s = (SELECT saved.%[1]s FROM saved_%[2]s saved WHERE saved.id = %[2]s.id)", column, table))
		}
		s.query(t, "UPDATE "+table+" SET "+strings.Join(changes, ", "))
	}
}

// encrypted returns all stored secrets as the database holds them.
func (s store) encrypted(t *testing.T) string {
	t.Helper()
	hex := func(column string) string { return fmt.Sprintf("COALESCE(HEX(%s), '')", column) }
	if s.kind == v1alpha1.PostgreSQL {
		hex = func(column string) string { return fmt.Sprintf("COALESCE(ENCODE(%s, 'hex'), '')", column) }
	}
	var out []string
	for table, columns := range encryptedColumns {
		for _, column := range columns {
			out = append(out, table+"."+column+": "+s.query(t, "SELECT "+hex(column)+" FROM "+table+" ORDER BY id"))
		}
	}
	return sorted(out)
}

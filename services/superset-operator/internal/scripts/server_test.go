package scripts_test

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/flotilla-dev/flotilla/libs/testkit/mysqltest"
	"github.com/flotilla-dev/flotilla/libs/testkit/postgres"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
)

// shells are the shells that images of database tools use as /bin/sh.
var shells = map[string][]string{"dash": {"dash"}, "ash": {"busybox", "ash"}, "bash": {"bash"}}

// server is a database server with its client.
type server interface {
	kind() v1alpha1.DatabaseType
	// create creates an empty database and drops it at the end of the test; drop only does the latter.
	create(t *testing.T, name string)
	drop(t *testing.T, name string)
	// atEnd runs a statement at the end of the test.
	atEnd(t *testing.T, statement string)
	// query runs statements and returns the rows, one a line, columns separated by |.
	query(t *testing.T, database, statements string) string
	identifier(name string) string
	literal(text string) string
	// hold opens a transaction that reads a table, and leaves it open until the end of the test.
	hold(t *testing.T, database, table string)
	host() (address, port string)
	// user creates an account that may create databases and returns its name.
	user(t *testing.T, name, password string) string
	admin() (user, password string)
	// path is the directory of the client programs, which precedes PATH.
	path() string
}

func servers(t *testing.T) map[string]server {
	t.Helper()
	login, err := mysql.ParseDSN(mysqltest.DSN(t))
	if err != nil {
		t.Fatal(err)
	}
	return map[string]server{"PostgreSQL": postgresServer{postgres.Shared(t)}, "MySQL": mysqlServer{login}}
}

// forEachServer runs a test on each server under each shell.
func forEachServer(t *testing.T, test func(t *testing.T, r runner)) {
	t.Helper()
	for kind, s := range servers(t) {
		for name, shell := range shells {
			t.Run(kind+"/"+name, func(t *testing.T) {
				t.Parallel() // the tests mostly wait for the servers
				test(t, newRunner(t, s, shell))
			})
		}
	}
}

type postgresServer struct{ *postgres.Server }

func (postgresServer) kind() v1alpha1.DatabaseType { return v1alpha1.PostgreSQL }

func (s postgresServer) create(t *testing.T, name string) {
	t.Helper()
	s.Query(t, "postgres", "CREATE DATABASE "+postgres.Identifier(name))
	s.DropAtEnd(t, name)
}

func (s postgresServer) drop(t *testing.T, name string) {
	t.Helper()
	s.DropAtEnd(t, name)
}

func (s postgresServer) query(t *testing.T, database, statements string) string {
	t.Helper()
	if database == "" {
		database = "postgres"
	}
	return s.Query(t, database, statements)
}

func (postgresServer) identifier(name string) string  { return postgres.Identifier(name) }
func (postgresServer) literal(text string) string     { return postgres.Literal(text) }
func (s postgresServer) host() (string, string)       { return s.Host, fmt.Sprint(s.Port) }
func (s postgresServer) admin() (user, secret string) { return s.User, s.Password }
func (s postgresServer) path() string                 { return s.Bin }

func (s postgresServer) user(t *testing.T, name, password string) string {
	t.Helper()
	s.Query(t, "postgres", "CREATE ROLE "+postgres.Identifier(name)+" LOGIN CREATEDB PASSWORD "+postgres.Literal(password))
	s.atEnd(t, "DROP ROLE "+postgres.Identifier(name)) // the cleanups that drop the databases of the role run earlier
	return name
}

func (s postgresServer) atEnd(t *testing.T, statement string) {
	t.Helper()
	t.Cleanup(func() {
		psql := exec.CommandContext(context.Background(), filepath.Join(s.Bin, "psql"), "-qc", statement)
		psql.Env = append(os.Environ(), s.Environment("postgres")...)
		if out, err := psql.CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", statement, err, out)
		}
	})
}

func (s postgresServer) hold(t *testing.T, database, table string) {
	t.Helper()
	psql := exec.CommandContext(t.Context(), filepath.Join(s.Bin, "psql"), "-qAt")
	psql.Env = append(os.Environ(), s.Environment(database)...)
	in, err := psql.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := psql.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := psql.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = in.Close(), psql.Wait() }) // psql exits with an error, since it is disconnected
	if _, err := fmt.Fprintf(in, "BEGIN; SELECT * FROM %s;\n", s.identifier(table)); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
}

type mysqlServer struct{ login *mysql.Config }

func (mysqlServer) kind() v1alpha1.DatabaseType { return v1alpha1.MySQL }

func (s mysqlServer) create(t *testing.T, name string) {
	t.Helper()
	s.query(t, "", "CREATE DATABASE "+s.identifier(name)+" CHARACTER SET utf8mb4")
	s.drop(t, name)
}

func (s mysqlServer) drop(t *testing.T, name string) {
	t.Helper()
	s.atEnd(t, "DROP DATABASE IF EXISTS "+s.identifier(name))
}

func (s mysqlServer) atEnd(t *testing.T, statement string) {
	t.Helper()
	t.Cleanup(func() {
		if _, err := s.run(context.Background(), "", statement); err != nil {
			t.Error(err)
		}
	})
}

func (s mysqlServer) query(t *testing.T, database, statements string) string {
	t.Helper()
	out, err := s.run(t.Context(), database, statements)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func (s mysqlServer) run(ctx context.Context, database, statements string) (string, error) {
	login := s.login.Clone()
	login.Logger = &mysql.NopLogger{} // the script terminates connections
	login.DBName, login.MultiStatements = database, true
	connector, err := mysql.NewConnector(login)
	if err != nil {
		return "", err
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	rows, err := db.QueryContext(ctx, statements)
	if err != nil {
		return "", fmt.Errorf("run %q: %w", statements, err)
	}
	defer rows.Close()
	var out []string
	for more := true; more; more = rows.NextResultSet() {
		columns, err := rows.Columns()
		if err != nil {
			return "", err
		}
		for rows.Next() {
			values, targets := make([]sql.NullString, len(columns)), make([]any, len(columns))
			for i := range values {
				targets[i] = &values[i]
			}
			if err := rows.Scan(targets...); err != nil {
				return "", err
			}
			row := make([]string, len(columns))
			for i, v := range values {
				row[i] = v.String
			}
			out = append(out, strings.Join(row, "|"))
		}
	}
	return strings.Join(out, "\n"), rows.Err()
}

func (mysqlServer) identifier(name string) string {
	return "`" + strings.ReplaceAll(name, "`", "``") + "`"
}

func (mysqlServer) literal(text string) string {
	return "'" + strings.ReplaceAll(strings.ReplaceAll(text, `\`, `\\`), "'", `\'`) + "'"
}

func (s mysqlServer) hold(t *testing.T, database, table string) {
	t.Helper()
	login := s.login.Clone()
	login.Logger = &mysql.NopLogger{} // the script terminates connections
	login.DBName = database
	connector, err := mysql.NewConnector(login)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	t.Cleanup(func() { _ = db.Close() })
	tx, err := db.BeginTx(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback() }) // the connection is closed
	if _, err := tx.ExecContext(t.Context(), "SELECT * FROM "+s.identifier(table)); err != nil {
		t.Fatal(err)
	}
}

func (s mysqlServer) host() (string, string) {
	address, port, _ := strings.Cut(s.login.Addr, ":")
	return address, port
}

func (s mysqlServer) admin() (user, secret string) { return s.login.User, s.login.Passwd }
func (mysqlServer) path() string                   { return "" }

func (s mysqlServer) user(t *testing.T, name, password string) string {
	t.Helper()
	quoted := s.literal
	s.query(t, "", "CREATE USER "+quoted(name)+" IDENTIFIED BY "+quoted(password)+
		"; GRANT ALL PRIVILEGES ON *.* TO "+quoted(name))
	s.atEnd(t, "DROP USER "+quoted(name))
	return name
}

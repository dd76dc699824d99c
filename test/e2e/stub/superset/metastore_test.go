package superset_test

import (
	"bytes"
	"database/sql"
	"net"
	"strconv"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/flotilla-dev/flotilla/libs/testkit/mysqltest"
	"github.com/flotilla-dev/flotilla/libs/testkit/postgres"
)

// metastore is the database of one test, with the environment for pods and a query function for the test.
type metastore struct {
	env   map[string]string
	query func(t *testing.T, statement string) string
	// examples is the directory of the rendered files for this kind of database.
	examples string
	// complete means that a failed migration leaves no changes, since DDL is transactional.
	complete bool
}

func onPostgreSQL(t *testing.T) metastore {
	t.Helper()
	server := postgres.Shared(t)
	name := server.Database(t)
	return metastore{
		examples: "staging", complete: true,
		env:   login(server.Host, strconv.Itoa(server.Port), name, server.User, server.Password),
		query: func(t *testing.T, statement string) string { t.Helper(); return server.Query(t, name, statement) },
	}
}

func onMySQL(t *testing.T) metastore {
	t.Helper()
	return metastoreAt(t, mysqltest.DSNOf(t, mysqltest.MySQL))
}

// server is a MySQL server of one test.
type server struct {
	*mysqltest.Server
	metastore metastore
}

func privateMySQL(t *testing.T) server {
	t.Helper()
	private := mysqltest.PrivateOf(t, mysqltest.MySQL)
	return server{private, metastoreAt(t, private.DSN())}
}

func metastoreAt(t *testing.T, dsn string) metastore {
	t.Helper()
	config, err := mysql.ParseDSN(dsn)
	must(t, err)
	host, port, err := net.SplitHostPort(config.Addr)
	must(t, err)
	db, err := sql.Open("mysql", dsn)
	must(t, err)
	t.Cleanup(func() { db.Close() })
	return metastore{
		examples: "staging-mysql",
		env:      login(host, port, config.DBName, config.User, config.Passwd),
		query:    func(t *testing.T, statement string) string { t.Helper(); return one(t, db, statement) },
	}
}

func login(host, port, name, user, password string) map[string]string {
	const prefix = "SUPERSET_OPERATOR__DB_"
	return map[string]string{
		prefix + "HOST": host, prefix + "PORT": port, prefix + "NAME": name, prefix + "USER": user, prefix + "PASS": password,
	}
}

// one returns the first column of all rows, one value per line.
func one(t *testing.T, db *sql.DB, statement string) string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), statement)
	must(t, err)
	defer rows.Close()
	columns, err := rows.Columns()
	must(t, err)
	var lines [][]byte
	for len(columns) > 0 && rows.Next() {
		var value []byte
		must(t, rows.Scan(&value))
		lines = append(lines, bytes.Clone(value))
	}
	must(t, rows.Err())
	return string(bytes.Join(lines, []byte("\n")))
}

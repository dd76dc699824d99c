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

// metastore is a database of the test's own, as pods reach it and as the test looks into it.
type metastore struct {
	env   map[string]string
	query func(t *testing.T, statement string) string
	// examples is the directory of the operator's renders for this kind of database.
	examples string
	// whole reports whether a migration that fails leaves nothing behind.
	whole bool
}

func onPostgreSQL(t *testing.T) metastore {
	t.Helper()
	server := postgres.Shared(t)
	name := server.Database(t)
	return metastore{
		examples: "staging", whole: true,
		env:   login(server.Host, strconv.Itoa(server.Port), name, server.User, server.Password),
		query: func(t *testing.T, statement string) string { t.Helper(); return server.Query(t, name, statement) },
	}
}

func onMySQL(t *testing.T) metastore {
	t.Helper()
	return atDSN(t, mysqltest.DSNOf(t, mysqltest.MySQL))
}

// server is a MySQL of the test's own.
type server struct {
	*mysqltest.Server
	metastore metastore
}

func privateMySQL(t *testing.T) server {
	t.Helper()
	private := mysqltest.PrivateOf(t, mysqltest.MySQL)
	return server{private, atDSN(t, private.DSN())}
}

func atDSN(t *testing.T, dsn string) metastore {
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

// one returns the first column of all rows, one a line.
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

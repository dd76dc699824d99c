//go:build products

package products

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/flotilla-dev/flotilla/libs/testkit/freeport"
	"github.com/flotilla-dev/flotilla/libs/testkit/mysqlserver"
	"github.com/flotilla-dev/flotilla/libs/testkit/mysqltest"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/redact"
)

// installed returns an installation of 6.1 on an empty PostgreSQL.
func installed(t *testing.T) installation {
	t.Helper()
	return withStore(onPostgreSQL(t))
}

func withStore(s store) installation {
	return installation{release: release61, store: s, secrets: map[string]string{"old/key": oldKey, "db/key": s.password, "valkey/key": "not-the-password"}}
}

// checkRejection runs a preflight that must fail in less than a minute, and checks that the condition gets its whole
// last line.
func (c *container) checkRejection(parts ...string) {
	c.t.Helper()
	start := time.Now()
	code, output, _ := c.run()
	duration := time.Since(start)
	lines := strings.Split(strings.TrimSpace(output), "\n")
	last := lines[len(lines)-1]
	if code == 0 || duration > time.Minute {
		c.t.Errorf("exit code %d after %s:\n%s", code, duration, tail(output))
	}
	c.t.Logf("%.1fs: %s", duration.Seconds(), last)
	contains(c.t, last, append([]string{"preflight: "}, parts...)...)
	message := fmt.Sprintf("container %q ended with exit code %d: %s", "superset", code, last)
	if redacted := redact.Line(message, 256); redacted != message {
		c.t.Errorf("the condition shows %s", redacted)
	}
	for _, secret := range []string{oldKey, "not-the-password"} {
		if strings.Contains(output, secret) {
			c.t.Errorf("a secret is in the output:\n%s", tail(output))
		}
	}
}

// path replaces the image's PATH.
func (c *container) path(value string) *container {
	for n, e := range c.env {
		if strings.HasPrefix(e, "PATH=") {
			c.env[n] = "PATH=" + value
		}
	}
	return c
}

func closed(t *testing.T) int32 {
	t.Helper()
	port, err := freeport.One()
	if err != nil {
		t.Fatal(err)
	}
	return int32(port)
}

// redisWithPassword returns the port of a Redis that requires a password.
func redisWithPassword(t *testing.T) int32 {
	t.Helper()
	port := redis(t)
	conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	response := make([]byte, 5)
	if _, err := io.WriteString(conn, "CONFIG SET requirepass other-password\r\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(conn, response); err != nil || string(response) != "+OK\r\n" {
		t.Fatalf("%q, %v", response, err)
	}
	return port
}

func at(port int32) func(*v1alpha1.SupersetSpec) {
	return func(s *v1alpha1.SupersetSpec) { s.Metastore.Port = &port }
}

func broker(port int32) func(*v1alpha1.SupersetSpec) {
	return func(s *v1alpha1.SupersetSpec) {
		s.Valkey = &v1alpha1.ValkeySpec{Host: "127.0.0.1", Port: &port, PasswordFrom: key("valkey")}
	}
}

func config(text string) func(*v1alpha1.SupersetSpec) {
	return func(s *v1alpha1.SupersetSpec) { s.Config = &text }
}

func features(names ...string) func(*v1alpha1.SupersetSpec) {
	return func(s *v1alpha1.SupersetSpec) {
		s.FeatureFlags = map[string]bool{}
		for _, name := range names {
			s.FeatureFlags[name] = true
		}
	}
}

func driver(name string) func(*v1alpha1.SupersetSpec) {
	return func(s *v1alpha1.SupersetSpec) { s.Metastore.Driver = &name }
}

// TestPreflightRejectsInput changes one setting of a working installation in each case.
func TestPreflightRejectsInput(t *testing.T) {
	i := installed(t)
	absent := func(s *v1alpha1.SupersetSpec) { name := "absent"; s.Metastore.Database = &name }
	cases := map[string]struct {
		edit func(*v1alpha1.SupersetSpec)
		want []string
	}{
		"an undefined name":         {config("ROW_LIMIT = 1\nOTHER = missing_name\n"), []string{"superset_config.py fails: line ", "NameError: name 'missing_name' is not defined"}},
		"a syntax error":            {config("ROW_LIMIT = = 1\n"), []string{"superset_config.py fails: line ", "SyntaxError: invalid syntax"}},
		"a secret in an error":      {config("int(SECRET_KEY)\n"), []string{"ValueError: invalid literal for int() with base 10: '***'"}},
		"a missing package":         {config("import nowhere\n"), []string{"ModuleNotFoundError: No module named 'nowhere'"}},
		"a driver without module":   {driver("asyncpg"), []string{"the image lacks the driver asyncpg that spec.metastore names (No module named 'asyncpg')"}},
		"an unknown driver":         {driver("unknown"), []string{"the image lacks the driver unknown"}},
		"asynchronous queries":      {features("GLOBAL_ASYNC_QUERIES"), []string{"requires a GLOBAL_ASYNC_QUERIES_JWT_SECRET of 32 or more bytes"}},
		"embedding":                 {features("EMBEDDED_SUPERSET"), []string{"has the published GUEST_TOKEN_JWT_SECRET"}},
		"a metastore without route": {at(blackholePort(t)), []string{"the metastore does not answer within 10 s (127.0.0.1:"}},
		"a broker without route":    {broker(blackholePort(t)), []string{"the broker does not answer within 10 s (127.0.0.1:"}},
		"an unresponsive metastore": {at(unresponsive(t)), []string{"the metastore does not answer within 10 s (127.0.0.1:"}},
		"a closed port":             {at(closed(t)), []string{"the metastore does not answer within 10 s (127.0.0.1:", "Connection refused): start it"}},
		"no such database":          {absent, []string{"the database absent does not exist: create it, or set spec.metastore.createDatabase"}},
		"a wrong broker password":   {broker(redisWithPassword(t)), []string{"the broker rejects the password (127.0.0.1:"}},
		"an unresponsive broker":    {broker(unresponsive(t)), []string{"the broker does not answer within 10 s (127.0.0.1:"}},
		"a broker that is down":     {broker(closed(t)), []string{"the broker does not answer within 10 s (127.0.0.1:", "Connection refused"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) { i.with(tc.edit).task(t, "preflight").checkRejection(tc.want...) })
	}
	t.Run("a database to create", func(t *testing.T) {
		creates := func(s *v1alpha1.SupersetSpec) { s.Metastore.CreateDatabase = new(true) }
		equal(t, i.with(absent).with(creates).task(t, "preflight").succeeds(), `{"columns": 0, "values": 0, "previousKey": 0}`)
		i.with(absent).with(creates).completed("Migrate").task(t, "preflight").checkRejection("does not exist: create it")
	})
	t.Run("an image without MCP server", func(t *testing.T) {
		serves := func(s *v1alpha1.SupersetSpec) { s.MCPServer = &v1alpha1.MCPServerSpec{} }
		i.upgraded(release60).with(serves).task(t, "preflight").checkRejection("the image contains no MCP server, which Superset has since 6.1: remove")
	})
	t.Run("an image without Superset", func(t *testing.T) {
		i.task(t, "preflight").path("/usr/bin:/bin").checkRejection("the image contains no Superset: correct spec.image")
		i.task(t, "preflight").path("/nowhere").checkRejection("the image contains no Superset: it has no python3")
	})
}

// TestPreflightRejectsMetastore changes the database of a working installation.
func TestPreflightRejectsMetastore(t *testing.T) {
	i := installed(t)
	i.task(t, "preflight").succeeds()
	const unmigrated = "is not migrated: correct spec.metastore, or change spec.lifecycle.migrate.trigger"
	i.completed("Migrate").task(t, "preflight").checkRejection(unmigrated)
	i.task(t, "migrate").succeeds()
	i.completed("Migrate").task(t, "preflight").succeeds()
	equal(t, i.task(t, "preflight").succeeds(), `{"columns": 9, "values": 0, "previousKey": 0}`)
	if remaining := i.store.query(t, "SELECT count(*) FROM pg_tables WHERE tablename LIKE 'flotilla%'"); remaining != "0" {
		t.Errorf("%s tables were not removed", remaining)
	}
	t.Run("a newer release", func(t *testing.T) {
		before := i.store.query(t, "SELECT version_num FROM alembic_version")
		i.store.query(t, "UPDATE alembic_version SET version_num = 'f0f0f0f0f0f0'")
		i.task(t, "preflight").checkRejection("the metastore's revision f0f0f0f0f0f0 is unknown to this image")
		i.store.query(t, "UPDATE alembic_version SET version_num = '"+before+"'")
		i.task(t, "preflight").succeeds()
	})
	t.Run("an older image", func(t *testing.T) {
		older := i.upgraded(release60)
		older.task(t, "preflight").checkRejection("is unknown to this image: a newer or another release migrated it")
		clones := func(s *v1alpha1.SupersetSpec) {
			s.Environment = v1alpha1.Staging
			s.Lifecycle = &v1alpha1.LifecycleSpec{Clone: &v1alpha1.CloneTaskSpec{Source: v1alpha1.CloneSourceSpec{
				Type: i.store.spec().Type, Host: "source", Database: "superset", Username: "reader", PasswordFrom: key("db"),
			}}}
		}
		older.with(clones).task(t, "preflight").succeeds()
		older.with(clones).completed("Clone").task(t, "preflight").checkRejection("is unknown to this image")
	})
	t.Run("an older schema", func(t *testing.T) {
		before := i.store.query(t, "SELECT version_num FROM alembic_version")
		i.store.query(t, "UPDATE alembic_version SET version_num = '4e6a06bad7a8'") // the first of all migrations
		i.completed("Migrate").task(t, "preflight").checkRejection(unmigrated)
		i.task(t, "preflight").succeeds()
		i.store.query(t, "UPDATE alembic_version SET version_num = '"+before+"'")
	})
	t.Run("a user without CREATE", func(t *testing.T) {
		name := i.store.database + "_reader"
		i.store.query(t, fmt.Sprintf("CREATE ROLE %q LOGIN PASSWORD '%s'", name, i.store.password))
		i.store.query(t, fmt.Sprintf("GRANT SELECT ON ALL TABLES IN SCHEMA public TO %q", name))
		reader := i.with(func(s *v1alpha1.SupersetSpec) { s.Metastore.Username = &name })
		reader.task(t, "preflight").checkRejection("the metastore's user may not create tables (permission denied for schema public)")
		reader.with(func(s *v1alpha1.SupersetSpec) {
			s.Lifecycle = &v1alpha1.LifecycleSpec{Migrate: &v1alpha1.MigrateTaskSpec{}}
			s.Lifecycle.Migrate.Disabled = new(true)
		}).task(t, "preflight").succeeds()
	})
	t.Run("read-only", func(t *testing.T) {
		i.store.query(t, fmt.Sprintf("ALTER DATABASE %q SET default_transaction_read_only = on", i.store.database))
		i.task(t, "preflight").checkRejection("the metastore is read-only")
	})
}

// onServer returns an empty database of a MySQL-compatible server, without queries.
func onServer(t *testing.T, vendor mysqltest.Vendor) store {
	t.Helper()
	login, err := mysql.ParseDSN(mysqltest.DSNOf(t, vendor))
	if err != nil {
		t.Fatal(err)
	}
	address, err := net.ResolveTCPAddr("tcp", login.Addr)
	if err != nil {
		t.Fatal(err)
	}
	return store{
		kind: v1alpha1.MySQL, host: address.IP.String(), port: int32(address.Port), database: login.DBName,
		user: login.User, password: login.Passwd,
	}
}

func TestPreflightRejectsMySQL(t *testing.T) {
	t.Run("MariaDB", func(t *testing.T) {
		withStore(onServer(t, mysqlserver.MariaDB)).task(t, "preflight").checkRejection("the metastore is MariaDB 1", "use PostgreSQL or MySQL")
	})
	i := withStore(onMySQL(t))
	i.task(t, "preflight").succeeds()
	t.Run("no answer", func(t *testing.T) {
		i.with(at(unresponsive(t))).task(t, "preflight").checkRejection("the metastore does not answer within 10 s")
	})
	t.Run("packets dropped", func(t *testing.T) {
		i.with(at(blackholePort(t))).task(t, "preflight").checkRejection("the metastore does not answer within 10 s")
	})
	t.Run("read-only", func(t *testing.T) {
		i.store.query(t, "SET GLOBAL read_only = ON")
		defer i.store.query(t, "SET GLOBAL read_only = OFF") // before the context of the test ends
		i.task(t, "preflight").checkRejection("the metastore is read-only")
	})
	t.Run("a wrong password", func(t *testing.T) {
		i.secrets["db/key"] = "not-the-password"
		i.task(t, "preflight").checkRejection("the metastore rejects the user or the password")
	})
}

// TestMigrateWaitsForMetastore migrates on a database that rejects the first connections, like one that is starting.
func TestMigrateWaitsForMetastore(t *testing.T) {
	i := installed(t)
	port := starting(t, i.store.port)
	code, output, _ := i.with(at(port)).task(t, "migrate").run()
	if code != 0 {
		t.Fatalf("exit code %d:\n%s", code, tail(output))
	}
	contains(t, output, fmt.Sprintf("preflight: waiting for the metastore (127.0.0.1:%d, server closed the connection unexpectedly", port))
}

// starting returns a port that closes its first two connections and forwards all others.
func starting(t *testing.T, target int32) int32 {
	t.Helper()
	n := 0
	return listen(t, func(conn net.Conn) {
		server, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", target))
		if n++; err != nil || n <= 2 {
			_ = conn.Close()
			return
		}
		go func() { _, _ = io.Copy(server, conn); _ = server.Close() }()
		go func() { _, _ = io.Copy(conn, server); _ = conn.Close() }()
	})
}

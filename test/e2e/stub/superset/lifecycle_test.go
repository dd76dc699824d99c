package superset_test

import (
	"fmt"
	"strings"
	"testing"
)

const (
	oldKey = "the key before, long enough for anybody"
	newKey = "the key now, which is another one"
)

// TestLifecycle runs the tasks of an instance's lifecycle with the commands and files that the operator renders.
func TestLifecycle(t *testing.T) {
	for name, database := range map[string]func(*testing.T) metastore{"PostgreSQL": onPostgreSQL, "MySQL": onMySQL} {
		t.Run(name, func(t *testing.T) {
			store := database(t)
			instance := instance{t, store}
			instance.createsDatabase()
			instance.install()
			instance.rotates()
			instance.upgrades()
			instance.cannotUpgrade()
			instance.switches()
		})
	}
}

type instance struct {
	t     *testing.T
	store metastore
}

func (i instance) pod(release, workload, key, previous string) *pod {
	i.t.Helper()
	return newPod(i.t, release, i.store.examples, workload).with(i.store.env).with(keys(key, previous))
}

// clones is the variable that tells the preflight whether a clone follows.
const clones = "SUPERSET_OPERATOR__CLONES"

// preflight returns the check before a rotation to newKey. No clone follows, as it does in some examples.
func (i instance) preflight(previous string) *pod {
	i.t.Helper()
	return i.pod("6.0.0", "preflight", newKey, previous).with(map[string]string{clones: "false"})
}

func keys(key, previous string) map[string]string {
	return map[string]string{"SUPERSET_OPERATOR__SECRET_KEY": key, "SUPERSET_OPERATOR__PREVIOUS_SECRET_KEY": previous}
}

// initialized runs superset init in the migrate Job, since not all examples have an init Job.
func (i instance) initialized(release, key string) {
	i.t.Helper()
	job := i.pod(release, "migrate", key, "")
	job.command = []string{"/bin/sh", "-c", "superset init"}
	job.succeeded()
}

// createsDatabase checks keys for a database that a later task creates, and for one that no task does.
func (i instance) createsDatabase() {
	i.t.Helper()
	const create = "SUPERSET_OPERATOR__CREATE_DATABASE"
	absent := map[string]string{"SUPERSET_OPERATOR__DB_NAME": "absent", create: "true"}
	output := i.preflight(oldKey).with(absent).succeeded()
	if !strings.Contains(output, `"columns": 0, "values": 0`) {
		i.t.Fatalf("the preflight found stored secrets in no database: %s", output)
	}
	absent[create] = "false"
	i.preflight(oldKey).with(absent).failed("the database absent does not exist: create it, or set")
}

func (i instance) install() {
	t := i.t
	t.Helper()
	newWeb(i.pod("6.0.0", "web-server", oldKey, "")).failed("the schema is at None, version 6.0.0 wants a6000")
	i.pod("6.0.0", "migrate", oldKey, "").succeeded()
	i.pod("6.0.0", "migrate", oldKey, "").succeeded() // a retry of the task
	i.initialized("6.0.0", oldKey)
	i.initialized("6.0.0", oldKey)
	if got := i.store.query(t, "SELECT count(*) FROM dbs WHERE password IS NOT NULL"); got != "3" {
		t.Fatalf("got %s connections, want 3", got)
	}
	web := newWeb(i.pod("6.0.0", "web-server", oldKey, "")).serving()
	web.answers("/health", 200, "OK")
	web.answers("/", 200, "superset page: version=6.0.0 pod=web-0 databases=3")
	web.answers("/nothing", 404, "no such page")
	web.terminated()
}

func (i instance) rotates() {
	t := i.t
	t.Helper()
	before := i.secrets()
	i.preflight("not the key before").failed("neither key decrypts 6 of 6 stored secrets")
	if output := i.preflight("not the key before").with(map[string]string{clones: "true"}).succeeded(); !strings.Contains(output, `"values": 0`) {
		t.Fatalf("the preflight read secrets that the clone replaces: %s", output)
	}
	i.pod("6.0.0", "rotate", newKey, "not the key before").failed("neither key decrypts 6 of 6 stored secrets")
	if after := i.secrets(); after != before {
		t.Fatalf("a failed re-encryption changed rows: got %s, want %s", after, before)
	}
	web := newWeb(i.pod("6.0.0", "web-server", oldKey, "")).serving()
	if output := i.preflight(oldKey).succeeded(); !strings.Contains(output, `"previousKey": 6`) {
		t.Fatalf("the preflight did not find the stored secrets: %s", output)
	}
	command := i.pod("6.0.0", "rotate", newKey, oldKey)
	command.command = []string{"/bin/sh", "-c", "superset re-encrypt-secrets"}
	command.succeeded() // without effect, as in Superset
	if after := i.secrets(); after != before {
		t.Fatalf("superset re-encrypt-secrets changed rows, unlike in Superset: %s", after)
	}
	output := i.pod("6.0.0", "rotate", newKey, oldKey).succeeded()
	if !strings.Contains(output, `"reencrypted": 6`) || i.secrets() == before {
		t.Fatalf("rows were not re-encrypted: %s", output)
	}
	web.answers("/", 500, "superset error: ValueError version=6.0.0")
	web.answers("/health", 200, "OK")
	web.terminated()
	if output := i.pod("6.0.0", "rotate", newKey, oldKey).succeeded(); !strings.Contains(output, `"reencrypted": 0`) {
		t.Fatalf("a second re-encryption changed rows: %s", output)
	}
	web = newWeb(i.pod("6.0.0", "web-server", newKey, oldKey)).serving()
	web.answers("/", 200, "databases=3")
	web.terminated()
}

// secrets returns the encrypted values in the metastore.
func (i instance) secrets() string {
	i.t.Helper()
	hex := map[bool]string{true: "encode(password, 'hex')", false: "hex(password)"}[i.store.complete]
	return i.store.query(i.t, "SELECT "+hex+" FROM dbs ORDER BY id")
}

func (i instance) upgrades() {
	i.t.Helper()
	newWeb(i.pod("6.1.0", "web-server", newKey, "")).failed("the schema is at a6000, version 6.1.0 wants a6100")
	before := newWeb(i.pod("6.0.0", "web-server", newKey, "")).serving()
	i.pod("6.1.0", "migrate", newKey, "").succeeded()
	before.answers("/", 200, "version=6.0.0") // the old release ignores the new column
	before.terminated()
	newWeb(i.pod("6.0.0", "web-server", newKey, "")).serving().terminated()
	i.pod("6.0.0", "migrate", newKey, "").failed("a6100") // a downgrade is rejected
	after := newWeb(i.pod("6.1.0", "web-server", newKey, "")).serving()
	after.answers("/", 200, "superset page: version=6.1.0 pod=web-0 databases=3")
	after.terminated()
}

func (i instance) cannotUpgrade() {
	t := i.t
	t.Helper()
	i.pod("6.2.0", "migrate", newKey, "").failed("table_that_is_not_there")
	if got := i.revision(); got != "a6100" {
		t.Fatalf("got revision %s after a failed migration, want a6100", got)
	}
	half := i.store.query(t, "SELECT count(*) FROM information_schema.columns WHERE table_name = 'dbs' AND column_name = 'half_way'")
	if complete := half == "0"; complete != i.store.complete {
		t.Errorf("got %s columns of a partial migration", half)
	}
	i.pod("6.1.0", "migrate", newKey, "").succeeded() // back to the release that works
	web := newWeb(i.pod("6.1.0", "web-server", newKey, "")).serving()
	web.answers("/", 200, "version=6.1.0")
	web.terminated()
}

func (i instance) switches() {
	t := i.t
	t.Helper()
	i.store.query(t, "INSERT INTO stub_switches (name, value) VALUES ('fail_migration', 'for the test')")
	i.pod("6.1.0", "migrate", newKey, "").failed("a switch makes it fail: for the test")
	i.store.query(t, "DELETE FROM stub_switches")
	i.pod("6.1.0", "migrate", newKey, "").succeeded()
}

func (i instance) revision() string {
	i.t.Helper()
	return i.store.query(i.t, "SELECT version_num FROM alembic_version")
}

func TestWebServerFinishesRequestsBeforeExit(t *testing.T) {
	instance := instance{t, onPostgreSQL(t)}
	instance.pod("6.0.0", "migrate", oldKey, "").succeeded()
	instance.initialized("6.0.0", oldKey)
	web := newWeb(instance.pod("6.0.0", "web-server", oldKey, "")).serving()
	type answer struct {
		status int
		body   string
		err    error
	}
	slow := make(chan answer, 1)
	go func() {
		status, body, err := get(t.Context(), web.url+"/?sleep_ms=2000")
		slow <- answer{status, body, err}
	}()
	web.waitForLog("superset: pauses for 2000 ms")
	web.terminated()
	if got := <-slow; got.err != nil || got.status != 200 || !strings.Contains(got.body, "superset page") {
		t.Errorf("a request that was running at SIGTERM got %s", fmt.Sprint(got))
	}
}

func TestWebServerReturns500WithoutMetastore(t *testing.T) {
	server := privateMySQL(t)
	instance := instance{t, server.metastore}
	instance.pod("6.0.0", "migrate", oldKey, "").succeeded()
	instance.initialized("6.0.0", oldKey)
	one := map[string]string{"SERVER_WORKER_AMOUNT": "1"} // a second worker may still be starting
	web := newWeb(instance.pod("6.0.0", "web-server", oldKey, "").with(one)).serving()
	server.Kill()
	web.answers("/", 500, "superset error: OperationalError")
	web.answers("/health", 200, "OK")
	newWeb(instance.pod("6.0.0", "web-server", oldKey, "")).failed("OperationalError")
	server.Start()
	web.waitForResponse("/", 200, "superset page")
	web.terminated()
}

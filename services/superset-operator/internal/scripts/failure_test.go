package scripts_test

import (
	"maps"
	"os"
	"testing"
)

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// checkTargetUnchanged checks that the target was not changed.
func checkTargetUnchanged(t *testing.T, r runner, target string) {
	t.Helper()
	if got := r.query(t, target, "SELECT * FROM old"); got != "7" {
		t.Errorf("the target was changed: %q", got)
	}
}

func TestW4CloneWithUnreadableSourceKeepsTarget(t *testing.T) {
	cases := map[string]func(r runner){
		"a wrong password":   func(r runner) { r.env["CLONE_SRC_PASS"] = "wrong password" },
		"no such database":   func(r runner) { r.env["CLONE_SRC_DB"] = "nothing" },
		"no server listens":  func(r runner) { r.env["CLONE_SRC_PORT"] = "1" },
		"no target password": func(r runner) { delete(r.env, "DB_PASS") },
	}
	forEachServer(t, func(t *testing.T, r runner) {
		t.Helper()
		source, target := r.databases(t)
		r.query(t, source, "CREATE TABLE a (id INT)")
		before := r.env
		for name, change := range cases {
			t.Run(name, func(t *testing.T) {
				r.env = map[string]string{}
				maps.Copy(r.env, before)
				change(r)
				fails(t, r.clone, "clone: cannot")
				checkTargetUnchanged(t, r, target)
			})
		}
	})
}

func TestW4CloneWithFailingDumpFails(t *testing.T) {
	cases := map[string]struct{ dump, want string }{
		"it fails immediately":       {`case "$*" in *--help*) ;; *) exit 3 ;; esac`, "ended with status 3"},
		"it fails after some tables": {`case "$*" in *--help*) exec REAL "$@"; esac; REAL "$@" | head -n 25; exit 5`, "ended with status 5"},
		"it is killed":               {`case "$*" in *--help*) exec REAL "$@"; esac; REAL "$@" | head -n 25; kill -9 $$`, "ended with status 137"},
	}
	forEachServer(t, func(t *testing.T, r runner) {
		t.Helper()
		for name, tc := range cases {
			t.Run(name, func(t *testing.T) {
				source, target := r.databases(t)
				r.query(t, source, "CREATE TABLE a (id INT)")
				for _, program := range r.dumpPrograms() {
					r.installStub(t, program, tc.dump)
				}
				fails(t, r.clone, tc.want)
				if name == "it fails immediately" {
					checkTargetUnchanged(t, r, target)
				}
			})
		}
	})
}

func TestW4CloneWithFailingRestoreFails(t *testing.T) {
	forEachServer(t, func(t *testing.T, r runner) {
		t.Helper()
		source, _ := r.databases(t)
		r.query(t, source, "CREATE TABLE a (id INT)")
		for _, program := range r.dumpPrograms() {
			r.installStub(t, program, `case "$*" in *--help*) exec REAL "$@"; esac; REAL "$@"; echo "INSERT INTO missing VALUES (1);"`)
		}
		fails(t, r.clone, "the restore into the target with", "missing")
	})
}

func TestW4CloneWithFailingStatementFails(t *testing.T) {
	forEachServer(t, func(t *testing.T, r runner) {
		t.Helper()
		source, target := r.databases(t)
		r.query(t, source, "CREATE TABLE a (id INT)")
		r.list("CLONE_POST_SQL", "INSERT INTO a VALUES (1)", "INSERT INTO missing VALUES (1)", "INSERT INTO a VALUES (2)")
		fails(t, r.clone, "postCloneSQL[1] failed", "missing")
		if got := r.query(t, target, "SELECT id FROM a"); got != "1" {
			t.Errorf("statements after the failed one ran: %q", got)
		}
	})
}

// TestW4MissingTableFails runs on MySQL only, whose dump program reads the tables by name.
func TestW4MissingTableFails(t *testing.T) {
	for name, shell := range shells {
		t.Run(name, func(t *testing.T) {
			r := newRunner(t, servers(t)["MySQL"], shell)
			source, _ := r.databases(t)
			r.query(t, source, "CREATE TABLE a (id INT)")
			r.list("CLONE_EXCLUDE_TABLE_DATA", "a", "missing")
			fails(t, r.clone, "missing", "the dump of the source ended with status")
		})
	}
}

// TestCloneIntoOlderServer makes pg_dump print the output of PostgreSQL 17.
func TestCloneIntoOlderServer(t *testing.T) {
	for name, shell := range shells {
		t.Run(name, func(t *testing.T) {
			r := newRunner(t, servers(t)["PostgreSQL"], shell)
			source, target := r.databases(t)
			r.query(t, source, "CREATE TABLE a (v text); INSERT INTO a VALUES ('SET transaction_timeout = 0;')")
			r.installStub(t, "pg_dump", `REAL "$@" | sed 's/^SET lock_timeout = 0;$/&\nSET transaction_timeout = 0;/'`)
			succeeds(t, r.clone)
			if got := r.query(t, target, "SELECT v FROM a"); got != "SET transaction_timeout = 0;" {
				t.Errorf("got %q", got)
			}
		})
	}
}

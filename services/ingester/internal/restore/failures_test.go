package restore_test

import (
	"strings"
	"testing"
	"time"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/command/commandtest"
)

func TestRestoreContinuesAfterRowErrors(t *testing.T) {
	b := commandtest.New(t)
	b.Stored(b.Model("there"))
	for name, change := range map[string]string{
		"deleting": "'$.metadata.annotations.\"michelangelo/Deleting\"', 'true'",
		"unknown":  "'$.spec.surprise', 'x'",
		"homeless": "'$.metadata.namespace', 'nowhere'",
		"fine":     "'$.spec.algorithm', 'x'",
	} {
		m := b.Stored(b.Model(name))
		b.Exec("UPDATE model SET json = JSON_SET(json, "+change+") WHERE uid = ?", string(m.GetUID()))
		b.Wipe(m)
	}
	c := newCommand()
	c.Existing = "fail"
	kinds, problems, failure := run(t, c, b.Env)
	equal(t, "restore", []string{"Model 5 1 0 1 1 3"}, kinds)
	equal(t, "error", "3 rows not restored", failure)
	text := strings.Join(problems, "\n")
	for _, want := range []string{
		"/deleting: skipped: the object has the annotation michelangelo/Deleting", `unknown field "spec.surprise"`,
		"/homeless: namespace nowhere not found: create it first", "/there: exists already, with uid",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("problems lack %q:\n%s", want, text)
		}
	}
}

// TestRestoreContinuesAfterPolicy has a policy that rejects the first of three rows.
func TestRestoreContinuesAfterPolicy(t *testing.T) {
	b := commandtest.New(t)
	for _, name := range []string{"rejected", "fine", "other"} {
		b.Wipe(b.Stored(b.Model(name)))
		b.Exec("UPDATE model SET uid = CONCAT(IF(name = 'rejected', '0', '1'), uid) WHERE name = ?", name) // the order of the run
	}
	allow := b.Plane.RejectWrites(t, b.Namespace, "rejected")
	kinds, problems, failure := run(t, newCommand(), b.Env)
	equal(t, "restore", []string{"Model 3 2 0 0 0 1"}, kinds)
	equal(t, "error", "1 row not restored", failure)
	if len(problems) != 1 || !strings.Contains(problems[0], b.Namespace+"/rejected: ") || !strings.Contains(problems[0], "rejected by the test") {
		t.Errorf("problems %q", problems)
	}
	allow()
	kinds, _, failure = run(t, newCommand(), b.Env)
	equal(t, "again", []string{"Model 3 1 0 2 0 0"}, kinds)
	equal(t, "error", "", failure)
}

// The clock of the running ingester is behind; that of the crashed one was ahead.
func TestRestoreFailsWhileIngesterRuns(t *testing.T) {
	b := commandtest.New(t)
	b.Wipe(b.Stored(b.Model("m")))
	kinds, _, failure := run(t, newCommand(), b.Lead(-time.Minute))
	if want := "the ingester pod-1 is running and may close rows"; len(kinds) > 0 || !strings.Contains(failure, want) {
		t.Errorf("restored %q, error %q, want none and %q", kinds, failure, want)
	}
	b.Lead(10 * time.Minute)
	kinds, _, failure = run(t, newCommand(), b.Env)
	equal(t, "restore after a crash of the ingester", []string{"Model 1 1 0 0 0 0"}, kinds)
	equal(t, "error", "", failure)
}

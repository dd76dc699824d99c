//go:build products

package products

import (
	"errors"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
)

// program is the file of the rotation's program in its ConfigMap.
const program = "superset_secret_keys.py"

// rotation is a metastore with stored secrets, and the task that changes their key.
type rotation struct {
	installation
	// old holds the stored secrets before the rotation, texts their decrypted values.
	old, texts string
}

func secrets(t *testing.T, i installation) rotation {
	t.Helper()
	i.task(t, "migrate").succeeds()
	i.component(t, "web-server").python("store.py")
	return rotation{installation: i, old: i.store.encrypted(t), texts: i.component(t, "web-server").python("read.py")}
}

func (r rotation) rotate(t *testing.T) *container {
	t.Helper()
	return r.with(rotating("new", "old")).task(t, "rotate")
}

// TestRotationKilled kills the rotation before and after each of its statements, and when it reports. Afterwards all
// stored secrets have the same key, and a repeated rotation completes.
func TestRotationKilled(t *testing.T) {
	forEachRelease(t, func(t *testing.T, i installation) {
		r := secrets(t, i)
		i.store.save(t)
		task := r.rotate(t)
		runs := task.startProgram("killed.py", filepath.Join(task.dir, program), "rotate", task.report())
		equal(t, runs.request(""), "ready")

		// The last run is the first that is not killed.
		equal(t, runs.request("0"), "ended with 0")
		stored := i.store.encrypted(t)
		equal(t, r.with(keyed("new")).component(t, "web-server").python("read.py"), r.texts)
		steps := r.killEach(t, runs, stored)
		for _, step := range []string{
			"begin", "after SELECT dbs FOR UPDATE", "before UPDATE ssh_tunnels", "after UPDATE database_user_oauth2_tokens",
			"before COMMIT", "after COMMIT", "before SELECT dbs", "report",
		} {
			contains(t, steps, " "+step+"\n")
		}
	})
}

// killEach kills a rotation at each step, and repeats it. It returns the steps, one a line.
func (r rotation) killEach(t *testing.T, runs *process, stored string) string {
	t.Helper()
	var steps strings.Builder
	committed := false
	for n := 1; ; n++ {
		r.store.restore(t)
		if r.store.encrypted(t) != r.old {
			t.Fatal("the secrets with the old key could not be restored")
		}
		response := runs.request(strconv.Itoa(n))
		step, killed := strings.CutPrefix(response, "killed at "+strconv.Itoa(n))
		if !killed {
			equal(t, response, "ended with 0")
			return steps.String()
		}
		steps.WriteString(step + "\n")
		committed = committed || step == " after COMMIT"
		want := r.old
		if committed {
			want = stored
		}
		if r.store.encrypted(t) != want {
			t.Errorf("killed%s: stored secrets have neither the old nor the new key (committed: %t)", step, committed)
		}
		if !committed {
			continue // The next run starts with the same stored secrets.
		}
		// Encryption is deterministic, so equal bytes mean that the product can read the texts.
		equal(t, runs.request("0"), "ended with 0")
		if r.store.encrypted(t) != stored {
			t.Errorf("killed%s: a repeated rotation changed stored secrets", step)
		}
	}
}

// TestRotationKilledInStatement kills the rotation's container while the server executes a statement.
func TestRotationKilledInStatement(t *testing.T) {
	forEachRelease(t, func(t *testing.T, i installation) {
		r := secrets(t, i)
		lock := r.component(t, "web-server").startProgram("hold.py", "ssh_tunnels")
		equal(t, lock.request(""), "held")
		task := r.rotate(t)
		rotation := task.start()
		// The values of dbs were changed before.
		expect.Eventually(t, expect.Long, func() error { return i.store.checkLockWait(t) })
		rotation.kill()
		if status, ok := rotation.cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
			t.Fatalf("ended with %s: %s", rotation.cmd.ProcessState, tail(rotation.output.String()))
		}
		_ = lock.input.Close()
		equal(t, strconv.Itoa(lock.code()), "0")
		if i.store.encrypted(t) != r.old {
			t.Error("a rotation that was killed before its commit changed stored secrets")
		}
		equal(t, task.succeeds(), `{"columns": 9, "values": 13, "reencrypted": 13}`)
		equal(t, r.with(keyed("new")).component(t, "web-server").python("read.py"), r.texts)
	})
}

// TestRotationReportsLateWrite stores a password with the previous key directly after the commit.
func TestRotationReportsLateWrite(t *testing.T) {
	forEachRelease(t, func(t *testing.T, i installation) {
		r := secrets(t, i)
		i.store.query(t, "CREATE TABLE late AS SELECT id, password FROM dbs")
		task := r.rotate(t)
		late, err := filepath.Abs("testdata/late.py")
		if err != nil {
			t.Fatal(err)
		}
		code, output := task.exec("python3", late, filepath.Join(task.dir, program), "rotate", task.report())
		equal(t, strconv.Itoa(code), "1")
		contains(t, output, "a value of dbs.password could not be read back with the new key; the change was committed")
		contains(t, task.succeeds(), `"reencrypted": `)
		equal(t, r.with(keyed("new")).component(t, "web-server").python("read.py"), r.texts)
	})
}

// checkLockWait fails unless a session waits for a lock.
func (s store) checkLockWait(t *testing.T) error {
	t.Helper()
	statement := "SELECT COUNT(*) FROM performance_schema.data_lock_waits"
	if s.kind == v1alpha1.PostgreSQL {
		statement = "SELECT COUNT(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
	}
	if waits := strings.TrimSpace(s.query(t, statement)); waits == "0" {
		return errors.New("no session waits for a lock")
	}
	return nil
}

package scripts_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/freeport"
)

// replica is a streaming replica of a PostgreSQL server.
type replica struct {
	bin, port   string
	environment []string
}

// replicate starts a replica of the server that ends with the test.
func replicate(t *testing.T, s server) *replica {
	t.Helper()
	primary, ok := s.(postgresServer)
	if !ok {
		t.Fatalf("%T is not a PostgreSQL server", s)
	}
	port, err := freeport.One()
	if err != nil {
		t.Fatal(err)
	}
	r := &replica{bin: primary.Bin, port: strconv.Itoa(port), environment: primary.Environment("postgres")}
	data := filepath.Join(t.TempDir(), "data")
	r.run(t, "pg_basebackup", "--pgdata="+data, "--write-recovery-conf", "--checkpoint=fast", "--no-sync")
	// PostgreSQL does not run as root.
	var args []string
	if os.Geteuid() == 0 {
		args = []string{"setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"}
		chownToNobody(t, filepath.Dir(data))
	}
	args = append(args, filepath.Join(r.bin, "postgres"), "-D", data, "-p", r.port, "-c", "fsync=off",
		"-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=")
	cmd := exec.CommandContext(context.Background(), args[0], args[1:]...)
	log := &strings.Builder{}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Error(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("the replica: %v\n%s", err, log)
		}
	})
	r.await(t, "postgres", "SELECT 1")
	return r
}

// chownToNobody makes the unprivileged user the owner of a directory of the test.
func chownToNobody(t *testing.T, dir string) {
	t.Helper()
	unprivileged, err := user.Lookup("nobody")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "chown", "-R", unprivileged.Uid+":"+unprivileged.Gid, dir).CombinedOutput(); err != nil {
		t.Fatalf("chown: %v: %s", err, out)
	}
	if err := os.Chmod(filepath.Dir(dir), 0o711); err != nil {
		t.Fatal(err)
	}
}

func (r *replica) tryRun(ctx context.Context, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, filepath.Join(r.bin, program), args...)
	cmd.Env = append(os.Environ(), r.environment...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s %v: %w: %s", program, args, err, out)
	}
	return string(out), nil
}

func (r *replica) run(t *testing.T, program string, args ...string) {
	t.Helper()
	if _, err := r.tryRun(t.Context(), program, args...); err != nil {
		t.Fatal(err)
	}
}

func (r *replica) query(t *testing.T, database, statement string) {
	t.Helper()
	r.run(t, "psql", "-qAt", "-p", r.port, "-d", database, "-c", statement)
}

// await waits until the replica answers a query of a database.
func (r *replica) await(t *testing.T, database, statement string) {
	t.Helper()
	expect.Eventually(t, expect.Long, func() error {
		_, err := r.tryRun(t.Context(), "psql", "-qAt", "-p", r.port, "-d", database, "-c", statement)
		return err
	})
}

// promote makes the replica an independent server.
func (r *replica) promote(t *testing.T) {
	t.Helper()
	r.query(t, "postgres", "SELECT pg_promote()")
}

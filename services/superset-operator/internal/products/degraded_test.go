//go:build products

package products

import (
	"os"
	"os/user"
	"strings"
	"syscall"
	"testing"

	"github.com/flotilla-dev/flotilla/libs/testkit/postgres"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
)

// diskSize is more than an empty database and less than the tables of Superset.
const diskSize = "12m"

// fullDiskStore returns an empty database of PostgreSQL whose disk has no space left, and how to drop it.
func fullDiskStore(t *testing.T) (s store, drop func()) {
	t.Helper()
	account, err := user.Lookup("postgres")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "full-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "mode=0700,size="+diskSize+",uid="+account.Uid+",gid="+account.Gid); err != nil {
		t.Fatalf("mount a small disk, as root: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	server := postgres.Shared(t)
	s = store{
		kind: v1alpha1.PostgreSQL, host: server.Host, port: int32(server.Port), user: server.User, password: server.Password,
		database: "full_disk",
	}
	server.Query(t, "postgres", "CREATE TABLESPACE small LOCATION "+postgres.Literal(dir))
	server.Query(t, "postgres", "CREATE DATABASE full_disk TABLESPACE small")
	drop = func() {
		server.Query(t, "postgres", "DROP DATABASE full_disk WITH (FORCE)")
		server.Query(t, "postgres", "DROP TABLESPACE small")
	}
	server.Query(t, s.database, "CREATE TABLE filler (text text)")
	server.Query(t, s.database, `DO $$ BEGIN LOOP INSERT INTO filler SELECT repeat(md5(random()::text), 40); END LOOP;
		EXCEPTION WHEN disk_full THEN NULL; END $$`)
	return s, drop
}

func TestPreflightRejectsFullMetastore(t *testing.T) {
	fullStore, drop := fullDiskStore(t)
	defer drop()
	withStore(fullStore).task(t, "preflight").checkRejection("the metastore is full (127.0.0.1:", "give it more space")
}

func TestPreflightRejectsStandby(t *testing.T) {
	i := installed(t)
	i.task(t, "migrate").succeeds()
	standby := postgres.Shared(t).Standby(t)
	i.with(at(int32(standby.Port))).task(t, "preflight").checkRejection("the metastore is read-only (127.0.0.1:", "use the primary server")
	if got := standby.Query(t, i.store.database, "SELECT count(*) > 20 FROM pg_tables"); strings.TrimSpace(got) != "t" {
		t.Errorf("the standby lacks the tables of the primary server: %s", got)
	}
}

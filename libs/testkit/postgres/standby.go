package postgres

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/flotilla-dev/flotilla/libs/testkit/freeport"
	"github.com/flotilla-dev/flotilla/libs/testkit/watchdog"
)

// Standby starts a streaming replica of the server, which accepts only reads and is removed at the end of the test.
func (s *Server) Standby(t testing.TB) *Server {
	t.Helper()
	port, err := freeport.One()
	if err != nil {
		t.Fatal(err)
	}
	directory, err := watchdog.NewDirectory(watchdog.Options{Prefix: "flotilla-postgres-", Key: markerKey, Memory: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := directory.Release(); err != nil {
			t.Error(err)
		}
	})
	p := program{bin: s.Bin, dir: directory.Path, port: port, marker: directory.Marker}
	identity, err := p.identity()
	if err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(p.dir, "data")
	ctx, cancel := context.WithTimeout(t.Context(), answerTimeout)
	defer cancel()
	backup := p.command(ctx, identity, "pg_basebackup", "--pgdata="+data, "--write-recovery-conf", "--checkpoint=fast", "--no-sync")
	backup.Env = append(backup.Env, s.Environment("postgres")...)
	if out, err := backup.CombinedOutput(); err != nil {
		t.Fatalf("copy the server: %v\n%s", err, out)
	}
	out := &Server{Bin: s.Bin, Host: s.Host, Port: port, User: s.User, Password: s.Password}
	child, err := p.serve(ctx, identity, data, out)
	if child != nil {
		t.Cleanup(child.Kill)
	}
	if err != nil {
		t.Fatalf("start the standby: %v", err)
	}
	return out
}

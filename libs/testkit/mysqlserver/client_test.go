package mysqlserver

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/google/go-cmp/cmp"
)

func TestClientCommand(t *testing.T) {
	tcp := &mysql.Config{User: "me", Passwd: "secret", Net: "tcp", Addr: "127.0.0.1:3307"}
	socket := &mysql.Config{User: "me", Passwd: "secret", Net: "unix", Addr: "/run/mysqld.sock"}
	for name, c := range map[string]struct {
		server   Server
		terminal bool
		want     []string
	}{
		"server on a port": {
			Server{login: tcp},
			true,
			[]string{"mariadb", "--user=me", "--database=boats", "--protocol=tcp", "--host=127.0.0.1", "--port=3307", "--execute=DO 1"},
		},
		"server on a socket": {
			Server{login: socket},
			true,
			[]string{"mariadb", "--user=me", "--database=boats", "--protocol=socket", "--socket=/run/mysqld.sock", "--execute=DO 1"},
		},
		"server in a container": {
			Server{login: tcp, Container: "stack-mysql"},
			false,
			[]string{"docker", "exec", "--interactive", "--env", "MYSQL_PWD", "stack-mysql", "mysql", "--user=me", "--database=boats", "--execute=DO 1"},
		},
		"server in a container, with a terminal": {
			Server{login: tcp, Container: "stack-mysql"},
			true,
			[]string{
				"docker", "exec", "--interactive", "--env", "MYSQL_PWD", "--tty", "stack-mysql", "mysql", "--user=me", "--database=boats",
				"--execute=DO 1",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("PATH", pathWith(t, "mariadb", "mysql", "docker"))
			cmd, err := c.server.Client(t.Context(), "boats", c.terminal, "--execute=DO 1")
			if err != nil {
				t.Fatal(err)
			}
			got := append([]string{filepath.Base(cmd.Path)}, cmd.Args[1:]...)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("command differs (-want +got):\n%s", diff)
			}
			if !slices.Contains(cmd.Env, "MYSQL_PWD=secret") || strings.Contains(strings.Join(cmd.Args, " "), "secret") {
				t.Errorf("the password is in the arguments: %v", cmd.Args)
			}
		})
	}
}

func TestClientFallsBackToMySQL(t *testing.T) {
	server := Server{login: &mysql.Config{Net: "tcp", Addr: "127.0.0.1:3307"}}
	t.Setenv("PATH", pathWith(t, "mysql"))
	if cmd, err := server.Client(t.Context(), "boats", false); err != nil || filepath.Base(cmd.Path) != "mysql" {
		t.Errorf("got %v, %v, want mysql", cmd, err)
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := server.Client(t.Context(), "boats", false); err == nil || !strings.Contains(err.Error(), "install") {
		t.Errorf("got %v, want advice", err)
	}
}

// pathWith returns a directory with empty programs of these names.
func pathWith(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

package scripts_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/scripts"
)

const prefix = "SUPERSET_OPERATOR__"

// runner runs the scripts for one server under one shell.
type runner struct {
	server
	shell []string
	env   map[string]string
	// bin is the first directory of PATH, for stubs of programs.
	bin string
}

func newRunner(t *testing.T, s server, shell []string) runner {
	t.Helper()
	if _, err := exec.LookPath(shell[0]); err != nil {
		t.Fatalf("the scripts have to run under %s, which was not found: install the package %s (make test does it on Debian)", shell, shell[0])
	}
	address, port := s.host()
	user, password := s.admin()
	return runner{server: s, shell: shell, bin: t.TempDir(), env: map[string]string{
		"CLONE_SRC_HOST": address, "CLONE_SRC_PORT": port, "CLONE_SRC_USER": user, "CLONE_SRC_PASS": password,
		"DB_HOST": address, "DB_PORT": port, "DB_USER": user, "DB_PASS": password,
	}}
}

// clone runs the clone script and returns its output.
func (r runner) clone(t *testing.T) (string, error) {
	t.Helper()
	return r.run(t, scripts.Clone(r.kind()))
}

func (r runner) createDatabase(t *testing.T) (string, error) {
	t.Helper()
	return r.run(t, scripts.CreateDatabase(r.kind()))
}

// run runs a script as the container does, with the script as an argument of the shell.
func (r runner) run(t *testing.T, script string) (string, error) {
	t.Helper()
	args := append(slices.Clone(r.shell), "-c", script)
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	temp := t.TempDir()
	// The locale supports only ASCII, as in the images.
	cmd.Env = []string{"PATH=" + strings.Join([]string{r.bin, r.path(), os.Getenv("PATH")}, ":"), "TMPDIR=" + temp, "LC_ALL=C", "HOME=" + temp}
	for _, name := range slices.Sorted(maps.Keys(r.env)) {
		cmd.Env = append(cmd.Env, prefix+name+"="+r.env[name])
	}
	out, err := cmd.CombinedOutput()
	for name, secret := range r.env {
		if strings.HasSuffix(name, "_PASS") && len(secret) > 8 && strings.Contains(string(out), secret) {
			t.Errorf("the output holds the password %s:\n%s", name, out)
		}
	}
	if remaining, readErr := os.ReadDir(temp); readErr != nil || len(remaining) > 0 {
		t.Errorf("files were not removed: %v %v", remaining, readErr)
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(out), err
}

// list sets the numbered variables of a list.
func (r runner) list(name string, values ...string) {
	for i, value := range values {
		r.env[fmt.Sprintf("%s_%d", name, i)] = value
	}
}

// setDatabases sets source and target.
func (r runner) setDatabases(source, target string) {
	r.env["CLONE_SRC_DB"], r.env["DB_NAME"] = source, target
}

// databases creates an empty source and a target with a table "old", and sets them.
func (r runner) databases(t *testing.T) (source, target string) {
	t.Helper()
	source, target = uniqueName("source"), uniqueName("target")
	r.create(t, source)
	r.create(t, target)
	r.query(t, target, "CREATE TABLE old (id INT); INSERT INTO old VALUES (7)")
	r.setDatabases(source, target)
	return source, target
}

func uniqueName(name string) string { return name + "_" + strings.ToLower(rand.Text()[:10]) }

// installStub installs a stub of a program. In its text REAL stands for the path of the real program.
func (r runner) installStub(t *testing.T, name, text string) {
	t.Helper()
	program := filepath.Join(r.path(), name)
	if r.path() == "" {
		var err error
		if program, err = exec.LookPath(name); err != nil {
			t.Fatalf("%v: install the package mariadb-client (make test does it on Debian)", err)
		}
	}
	text = "#!/bin/sh\n" + strings.ReplaceAll(text, "REAL", program) + "\n"
	if err := os.WriteFile(filepath.Join(r.bin, name), []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
}

// dumpPrograms are the names under which the script may find the dump program.
func (r runner) dumpPrograms() []string {
	if r.path() != "" {
		return []string{"pg_dump"}
	}
	return []string{"mariadb-dump", "mysqldump"}
}

func succeeds(t *testing.T, run func(*testing.T) (string, error)) string {
	t.Helper()
	out, err := run(t)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return out
}

func fails(t *testing.T, run func(*testing.T) (string, error), texts ...string) {
	t.Helper()
	out, err := run(t)
	if err == nil {
		t.Fatalf("it succeeded:\n%s", out)
	}
	for _, text := range texts {
		if !strings.Contains(out, text) {
			t.Errorf("the output does not contain %q:\n%s", text, out)
		}
	}
}

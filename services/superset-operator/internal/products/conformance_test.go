//go:build products

package products

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
)

// stubDir is the directory of the stub of Superset that the scenarios of test/e2e run.
const stubDir = "../../../../test/e2e/stub/superset"

// stub makes a container run the stub in place of the product, with the same files, variables and libraries.
func (c *container) stub(release string) *container {
	c.t.Helper()
	dir, python := c.t.TempDir(), filepath.Join(c.venv, "bin/python3")
	if err := os.CopyFS(filepath.Join(dir, "app"), os.DirFS(filepath.Join(stubDir, "app"))); err != nil {
		c.t.Fatal(err)
	}
	program, err := os.ReadFile(filepath.Join(stubDir, "bin/superset"))
	if err != nil {
		c.t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(program), "\n")
	for path, content := range map[string]string{"app/superset/VERSION": release, "superset": "#!" + python + "\n" + text} {
		if err := os.WriteFile(filepath.Join(dir, path), []byte(content), 0o700); err != nil { //nolint:gosec // a program
			c.t.Fatal(err)
		}
	}
	other := *c
	other.env = slices.Clone(c.env)
	for n, e := range other.env {
		switch name, value, _ := strings.Cut(e, "="); name {
		case "PATH":
			other.env[n] = "PATH=" + dir + ":" + value
		case "PYTHONPATH":
			other.env[n] = "PYTHONPATH=" + filepath.Join(dir, "app") + ":" + value
		}
	}
	return &other
}

// result is the exit code of a command, and a part of its output.
type result struct {
	code   int
	output string
}

// conformance lists the commands that product and stub run in this order, each on its own database.
var conformance = []struct {
	name    string
	command []string
	// without is a variable that is missing; config is added to the configuration.
	without, config string
	// missingDatabase uses a metastore whose database does not exist.
	missingDatabase bool
	product         result
	// stub is the result of the stub if it differs, reason the justification.
	stub   *result
	reason string
}{
	{name: "version", command: []string{"superset", "version"}, product: result{0, "RELEASE"}},
	{name: "no such command", command: []string{"superset", "nothing"}, product: result{2, "No such command 'nothing'"}},
	{name: "no such group", command: []string{"superset", "fab", "nothing"}, product: result{2, "No such command 'nothing'"}},
	{name: "an unknown option", command: []string{"superset", "fab", "create-admin", "--nothing"}, product: result{2, "No such option"}},
	{name: "migrate", command: []string{"superset", "db", "upgrade"}, product: result{0, ""}},
	{name: "migrate again", command: []string{"superset", "db", "upgrade"}, product: result{0, ""}},
	{name: "init", command: []string{"superset", "init"}, product: result{0, ""}},
	{name: "create an administrator", command: admin, product: result{0, "Admin User ada created."}},
	{name: "create it again", command: admin, product: result{0, "Error! User already exists ada"}},
	{name: "list users", command: []string{"superset", "fab", "list-users"}, product: result{0, "username:ada | email:ada@example.com | role:[Admin]"}},
	{
		name: "no key in the environment", command: upgrade, without: "SUPERSET_OPERATOR__SECRET_KEY",
		product: result{1, "KeyError: 'SUPERSET_OPERATOR__SECRET_KEY'"},
	},
	{
		name: "no key in the configuration", command: upgrade, config: "del SECRET_KEY",
		product: result{1, "Refusing to start due to insecure SECRET_KEY"},
		stub:    &result{1, "superset_config.py sets no SECRET_KEY"}, reason: "the stub has no default key",
	},
	{name: "a failing configuration", command: upgrade, config: "1 / 0", product: result{1, "ZeroDivisionError: division by zero"}},
	{name: "invalid Python", command: upgrade, config: "not valid Python", product: result{1, "SyntaxError: invalid syntax"}},
	{name: "no such database", command: upgrade, missingDatabase: true, product: result{1, "OperationalError"}},
}

var (
	upgrade = []string{"superset", "db", "upgrade"}
	admin   = []string{
		"superset", "fab", "create-admin", "--username", "ada", "--firstname", "Ada", "--lastname", "L",
		"--email", "ada@example.com", "--password", "a password",
	}
)

// TestStubConforms runs the same commands with the product and its stub.
func TestStubConforms(t *testing.T) {
	for kind, newStore := range stores() {
		release := releaseOn[kind]
		for _, stubbed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/%s/stub=%t", release, kind, stubbed), func(t *testing.T) {
				s := newStore(t)
				i := installation{release: release, store: s, secrets: map[string]string{"old/key": oldKey, "db/key": s.password}}
				for _, test := range conformance {
					t.Run(test.name, func(t *testing.T) {
						edited := i.with(func(s *v1alpha1.SupersetSpec) { s.Config = &test.config })
						if test.missingDatabase {
							edited.store.database = "nowhere"
						}
						c, want := edited.task(t, "migrate"), test.product
						if stubbed {
							c = c.stub(release)
							if test.stub != nil {
								want = *test.stub
							}
						}
						c.env = slices.DeleteFunc(c.env, func(e string) bool { return test.without != "" && strings.HasPrefix(e, test.without+"=") })
						code, output := c.exec(test.command...)
						if expected := strings.ReplaceAll(want.output, "RELEASE", release); code != want.code || !strings.Contains(output, expected) {
							t.Errorf("got %d, want %d and %q (%s): %s", code, want.code, expected, test.reason, tail(output))
						}
					})
				}
			})
		}
	}
}

// TestStubServes checks that both answer a request that began before the signal, and exit with 0.
func TestStubServes(t *testing.T) {
	slowPaths := map[bool]string{false: "/slow", true: "/?sleep_ms=3000"}
	startLogs := map[bool]string{false: "slow began", true: "pauses for 3000 ms"}
	for _, stubbed := range []bool{false, true} {
		t.Run(fmt.Sprintf("stub=%t", stubbed), func(t *testing.T) {
			s := onPostgreSQL(t)
			i := installation{release: release61, store: s, secrets: map[string]string{"old/key": oldKey, "db/key": s.password}}
			c, port := i.listening(t, func(s *v1alpha1.SupersetSpec) { s.Config = new(slowConfig) })
			migrate := i.task(t, "migrate")
			if stubbed {
				c, migrate = c.stub(release61), migrate.stub(release61)
			}
			migrate.succeeds()
			server := (&web{process: c.start(), t: t, port: port}).serves()
			if status, text, err := server.get("/health"); err != nil || status != http.StatusOK || strings.TrimSpace(text) != "OK" {
				t.Errorf("/health: %d %q %v", status, text, err)
			}
			statuses := make(chan int, 1)
			go func() {
				status, _, _ := server.get(slowPaths[stubbed])
				statuses <- status
			}()
			expect.Eventually(t, expect.Long, server.hasPrinted(startLogs[stubbed]))
			if err := server.cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if code, status := server.code(), <-statuses; code != 0 || status != http.StatusOK {
				t.Errorf("ended with %d, answered %d: %s", code, status, tail(server.output.String()))
			}
		})
	}
}

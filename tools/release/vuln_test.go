package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// write creates files below a new directory and returns the directory.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// database writes a vulnerability database with an entry for one symbol of the standard library and returns its URL.
func database(t *testing.T, pkg, symbol string) string {
	t.Helper()
	const when = `"modified":"2026-01-01T00:00:00Z"`
	return "file://" + write(t, map[string]string{
		"index/db.json":      "{" + when + "}",
		"index/modules.json": `[{"path":"stdlib","vulns":[{"id":"GO-2026-9999",` + when + `}]}]`,
		"index/vulns.json":   `[{"id":"GO-2026-9999",` + when + `}]`,
		"ID/GO-2026-9999.json": fmt.Sprintf(`{"schema_version":"1.3.1","id":"GO-2026-9999",%s,"published":"2026-01-01T00:00:00Z",
			"summary":"made up","details":"made up","database_specific":{"url":"https://example.org"},
			"affected":[{"package":{"name":"stdlib","ecosystem":"Go"},"ranges":[{"type":"SEMVER","events":[{"introduced":"0"}]}],
			"ecosystem_specific":{"imports":[{"path":%q,"symbols":[%q]}]}}]}`, when, pkg, symbol),
	})
}

// search runs the script on a module that calls strings.ToUpper.
func search(t *testing.T, database string) (out, stages string, err error) {
	t.Helper()
	module := write(t, map[string]string{
		"go.mod":  "module example.com/m\n\ngo 1.26.0\n",
		"main.go": "package main\n\nimport (\n\t\"os\"\n\t\"strings\"\n)\n\nfunc main() { _, _ = os.Stdout.WriteString(strings.ToUpper(os.Args[0])) }\n",
	})
	record := filepath.Join(t.TempDir(), "stages")
	cmd := exec.CommandContext(t.Context(), "../../hack/vuln.sh", module)
	cmd.Env = append(os.Environ(), "GOVULNDB="+database, "FLOTILLA_STAGES="+record)
	text, err := cmd.CombinedOutput()
	recorded, readErr := os.ReadFile(record)
	if readErr != nil && !os.IsNotExist(readErr) {
		t.Fatal(readErr)
	}
	return string(text), string(recorded), err
}

func TestVulnFailsOnFinding(t *testing.T) {
	out, _, err := search(t, database(t, "strings", "ToUpper"))
	if err == nil || !strings.Contains(out, "GO-2026-9999") || !strings.Contains(out, "vuln: findings, or a failed search, in: ") {
		t.Errorf("error %v, output:\n%s", err, out)
	}
}

func TestVulnIgnoresUncalledFunctions(t *testing.T) {
	out, _, err := search(t, database(t, "strings", "ToTitle"))
	if err != nil || !strings.Contains(out, "vuln: no known vulnerability is reached in 1 modules") {
		t.Errorf("error %v, output:\n%s", err, out)
	}
}

func TestVulnToleratesUnreachableDatabase(t *testing.T) {
	out, stages, err := search(t, "http://127.0.0.1:1")
	const want = "vuln: NOT RUN, database unreachable (http://127.0.0.1:1"
	if err != nil || !strings.HasPrefix(out, want) || strings.Count(out, "\n") != 1 || stages != out {
		t.Errorf("error %v, stages %q, output:\n%s", err, stages, out)
	}
}

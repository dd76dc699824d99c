package httpapi

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/flotilla-dev/flotilla/libs/kube/httpserver"
	"github.com/flotilla-dev/flotilla/libs/testkit/certdir"
)

var (
	example  = regexp.MustCompile("(?s)```sh\n(.*?)```")
	expected = regexp.MustCompile(`(?m)^# => (.*)$`)
)

// TestPageExamples runs the examples of docs/http-api.md.
func TestPageExamples(t *testing.T) {
	page, err := os.ReadFile("../../docs/http-api.md")
	if err != nil {
		t.Fatal(err)
	}
	examples := example.FindAllStringSubmatch(string(page), -1)
	if len(examples) < 5 {
		t.Fatalf("the page has %d examples", len(examples))
	}
	dir := t.TempDir()
	certdir.Write(t, dir)
	l := newClusterEnv(t, func(c *Config) { c.Options.CertDir = dir })
	l.login("ada", reader, deleter)
	l.inCluster("churn", map[string]string{"team": "growth"})
	l.inStorage(l.live("churn"))
	l.evicted("churn-2024", map[string]string{"team": "growth"})
	for _, block := range examples {
		script := strings.ReplaceAll(block[1], "team-a", l.namespace)
		cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", script)
		cmd.Env = append(os.Environ(), "API="+l.base, "TOKEN="+l.token, "CA="+filepath.Join(dir, httpserver.CertFile))
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%v\n%s\n%s", err, script, out)
			continue
		}
		for _, want := range expected.FindAllStringSubmatch(script, -1) {
			if !strings.Contains(strings.ToLower(string(out)), strings.ToLower(want[1])) {
				t.Errorf("%q is not in the response\n%s\n%s", want[1], script, out)
			}
		}
	}
}

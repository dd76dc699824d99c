package httpapi

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/contract/statusapi"
	"github.com/flotilla-dev/flotilla/libs/kube/httpserver"
	"github.com/flotilla-dev/flotilla/libs/testkit/certdir"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"

	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/readmodel/readmodeltest"
)

var (
	example  = regexp.MustCompile("(?s)```sh\n(.*?)```")
	expected = regexp.MustCompile(`(?m)^# => (.*)$`)
)

// TestHTTPAPIPageExamples runs the examples of docs/http-api.md.
func TestHTTPAPIPageExamples(t *testing.T) {
	page, err := os.ReadFile("../../docs/http-api.md")
	if err != nil {
		t.Fatal(err)
	}
	examples := example.FindAllStringSubmatch(string(page), -1)
	if len(examples) < 6 {
		t.Fatalf("the page has %d examples", len(examples))
	}
	dir := t.TempDir()
	roots := certdir.Write(t, dir)
	b := newTestEnv(t, func(_ *testEnv, c *Config) { c.Options.CertDir = dir })
	b.client.Transport.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: roots}
	b.base = strings.Replace(b.base, "http:", "https:", 1)
	o := b.Superset("main", available, degraded)
	seen := readmodeltest.Observation(o)
	b.Entry(contract.StatusEntry{Object: o, UpdatedAt: readmodeltest.Start, Provenance: &contract.Provenance{
		Observer: seen.Observer, Epoch: seen.Epoch, Seq: seen.Seq, ReceivedAt: readmodeltest.Start,
	}})
	b.Observation(seen)
	b.PublishChange(o, contract.EventDegraded, healthy, degraded)
	b.login("ada", b.Namespace)
	expect.Eventually(t, expect.Long, func() error {
		d := decode[statusapi.ResourceDetail](b, b.get(b.path(b.Namespace, "main")))
		if d.Provenance == nil || len(d.Resource.Conditions) != 2 {
			return fmt.Errorf("detail %+v", d)
		}
		return nil
	})
	for _, block := range examples {
		script := strings.ReplaceAll(block[1], "team-a", b.Namespace)
		cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", script)
		cmd.Env = append(os.Environ(), "API="+b.base, "TOKEN="+b.token, "CA="+filepath.Join(dir, httpserver.CertFile))
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%v\n%s\n%s", err, script, out)
			continue
		}
		for _, want := range expected.FindAllStringSubmatch(script, -1) {
			if !strings.Contains(string(out), want[1]) {
				t.Errorf("%q is not in the response\n%s\n%s", want[1], script, out)
			}
		}
	}
}

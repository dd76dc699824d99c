//go:build products

package products

import (
	"fmt"
	"net"
	"os/exec"
	"strings"
	"testing"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/freeport"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
)

// redis starts Debian's server and returns its port.
func redis(t *testing.T) int32 {
	t.Helper()
	port, err := freeport.One()
	if err != nil {
		t.Fatal(err)
	}
	program, err := exec.LookPath("redis-server")
	if err != nil {
		t.Fatal("redis-server not found: run apt-get install redis-server")
	}
	cmd := exec.CommandContext(t.Context(), program, "--port", fmt.Sprint(port), "--save", "", "--dir", t.TempDir(), "--bind", "127.0.0.1")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	expect.Eventually(t, expect.Long, func() error {
		conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			_ = conn.Close()
		}
		return err
	})
	return int32(port)
}

// TestSettings loads the configuration into the product as a worker does, and reads the settings of the application.
func TestSettings(t *testing.T) {
	port := redis(t)
	forEachRelease(t, func(t *testing.T, i installation) {
		i.task(t, "migrate").succeeds()
		got := i.with(rotating("new", "old"), func(s *v1alpha1.SupersetSpec) {
			s.Valkey = &v1alpha1.ValkeySpec{Host: "127.0.0.1", Port: &port}
			s.Config = new("class CeleryConfig(CeleryConfig):\n    task_acks_late = True\n\n\nCELERY_CONFIG = CeleryConfig\n")
			s.Networking = &v1alpha1.NetworkingSpec{Ingress: &v1alpha1.IngressSpec{Host: "bi.example.com"}}
		}).component(t, "celery-worker").python("settings.py")
		for _, want := range []string{
			`"schedule": ["reports.prune_log", "reports.scheduler"]`, `"imports": 5`, `"prefetch": 1`, `"reports": true`, `"acksLate": true`,
			fmt.Sprintf(`"broker": "redis://127.0.0.1:%d/0"`, port), `"connectTimeout": {"connect_timeout": 10}`,
			`"isolation": "READ COMMITTED"`, `"examplesAreTheMetastore": false`, `"proxies": true`, `"limits": null`,
			`"links": "http://bi.example.com/"`, `"fallbacks": ["` + oldKey + `"]`,
		} {
			if !strings.Contains(got, want) {
				t.Errorf("%s is not in %s", want, got)
			}
		}
	})
}

//go:build products

package products

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/flotilla-dev/flotilla/libs/testkit/authority"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/freeport"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
)

// valkeyWithTLS starts a Valkey with TLS and a certificate for a host. The directory also has the certificates of its
// CA, ca.crt, and of another CA, other.crt.
func valkeyWithTLS(t *testing.T, host string) (port int32, dir string) {
	t.Helper()
	dir = t.TempDir()
	now := time.Now()
	ca, err := authority.New("ca", now.Add(-time.Hour), now.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	other, err := authority.New("other", now.Add(-time.Hour), now.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	pair, err := ca.Issue(authority.Subject{User: "valkey", Hosts: []string{host}})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(ca.Write(dir, "ca"), other.Write(dir, "other"), pair.Write(dir, "server")); err != nil {
		t.Fatal(err)
	}
	number, err := freeport.One()
	if err != nil {
		t.Fatal(err)
	}
	file := func(name string) string { return filepath.Join(dir, name) }
	cmd := exec.CommandContext(t.Context(), "redis-server", "--port", "0", "--tls-port", fmt.Sprint(number), "--save", "", "--dir", dir,
		"--bind", "127.0.0.1", "--tls-auth-clients", "no",
		"--tls-cert-file", file("server.crt"), "--tls-key-file", file("server.key"), "--tls-ca-cert-file", file("ca.crt"))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	expect.Eventually(t, expect.Long, func() error {
		return exec.CommandContext(t.Context(), "redis-cli", "--tls", "--cacert", file("ca.crt"), "-p", fmt.Sprint(number), "PING").Run()
	})
	return int32(number), dir
}

// TestValkeyCertificate checks that each client of the product accepts Valkey's certificate only from the CA in the
// spec and, unless certRequired is optional, only for its host.
func TestValkeyCertificate(t *testing.T) {
	all := func(outcome string) string {
		return fmt.Sprintf(`{"broker": "%[1]s", "cache": "%[1]s", "celery results": "%[1]s", "data cache": "%[1]s", "results": "%[1]s"}`, outcome)
	}
	for kind, newStore := range stores() {
		t.Run(releaseOn[kind]+"/"+kind, func(t *testing.T) {
			s := newStore(t)
			i := installation{release: releaseOn[kind], store: s, secrets: map[string]string{"old/key": oldKey, "db/key": s.password}}
			i.task(t, "migrate").succeeds()
			matching, dir := valkeyWithTLS(t, "127.0.0.1")
			mismatched, mismatchedDir := valkeyWithTLS(t, "valkey.example.com")
			for name, test := range map[string]struct {
				port     int32
				ca       string
				required string
				want     string
			}{
				"right":                 {matching, dir + "/ca.crt", "required", "connected"},
				"another CA":            {matching, dir + "/other.crt", "required", "certificate"},
				"another CA optional":   {matching, dir + "/other.crt", "optional", "certificate"},
				"another host":          {mismatched, mismatchedDir + "/ca.crt", "required", "host name"},
				"another host optional": {mismatched, mismatchedDir + "/ca.crt", "optional", "connected"},
			} {
				got := i.with(func(s *v1alpha1.SupersetSpec) {
					s.Valkey = &v1alpha1.ValkeySpec{
						Host: "127.0.0.1", Port: &test.port, SSL: &v1alpha1.ValkeySSLSpec{CertRequired: &test.required, CACertFile: &test.ca},
					}
				}).component(t, "celery-worker").python("clients.py")
				if got != all(test.want) {
					t.Errorf("%s: got %s, want %s", name, got, all(test.want))
				}
			}
		})
	}
}

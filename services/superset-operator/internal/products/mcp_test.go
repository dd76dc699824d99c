//go:build products

package products

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/freeport"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
)

// mcp returns the container of an MCP server with the given settings, and the port that it will listen on.
func (i installation) mcp(t *testing.T, config string) (*container, int) {
	t.Helper()
	port, err := freeport.One()
	if err != nil {
		t.Fatal(err)
	}
	return i.with(func(s *v1alpha1.SupersetSpec) {
		s.MCPServer = &v1alpha1.MCPServerSpec{Config: &config}
		s.MCPServer.PodTemplate = &v1alpha1.PodTemplate{Container: &v1alpha1.ContainerTemplate{
			Ports: []corev1.ContainerPort{{ContainerPort: int32(port)}},
		}}
	}).component(t, "mcp-server"), port
}

// initialize requests a session from the MCP server without a token.
func initialize(port int) (int, error) {
	const body = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`
	request, err := http.NewRequest(http.MethodPost, fmt.Sprintf("http://127.0.0.1:%d/mcp", port), strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	return response.StatusCode, response.Body.Close()
}

// TestMCPServerRequiresAuth checks that the server exits without authentication. Superset itself would serve
// unauthenticated requests in all cases except the last two.
func TestMCPServerRequiresAuth(t *testing.T) {
	i := installed(t)
	i.task(t, "migrate").succeeds()
	const missing = "the MCP server has no authentication: set MCP_AUTH_ENABLED = True"
	rejected := map[string]struct{ config, want string }{
		"nothing set":                 {"", missing},
		"no key":                      {"MCP_AUTH_ENABLED = True\n", missing},
		"no such algorithm":           {"MCP_AUTH_ENABLED = True\nMCP_JWT_ALGORITHM = \"none\"\nMCP_JWT_SECRET = \"s\"\n", missing},
		"a factory that raises":       {"def MCP_AUTH_FACTORY(app):\n    raise ValueError(\"secret\")\n", "the authentication of the MCP server fails: ValueError"},
		"a factory that returns None": {"def MCP_AUTH_FACTORY(app):\n    return None\n", missing},
	}
	for name, tc := range rejected {
		t.Run(name, func(t *testing.T) {
			c, _ := i.mcp(t, tc.config)
			contains(t, c.fails(), tc.want)
		})
	}
	accepted := map[string]struct {
		config string
		want   int
	}{
		"a secret":            {"MCP_AUTH_ENABLED = True\nMCP_JWT_ALGORITHM = \"HS256\"\nMCP_JWT_SECRET = \"a secret of 32 characters or more\"\n", http.StatusUnauthorized},
		"explicitly disabled": {"MCP_AUTH_ENABLED = False\n", http.StatusOK},
	}
	for name, tc := range accepted {
		t.Run(name, func(t *testing.T) {
			c, port := i.mcp(t, tc.config)
			p := c.start()
			expect.Eventually(t, expect.Long, func() error {
				status, err := initialize(port)
				if err == nil && status != tc.want {
					err = fmt.Errorf("%d, want %d", status, tc.want)
				}
				return err
			})
			p.kill()
		})
	}
}

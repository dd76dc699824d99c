package pyconfig_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/render/pyconfig"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
)

// mcpScript runs superset_config.py and creates the authentication provider like the MCP server of Superset. The parts
// of Superset are stubs: the provider is the configured secret.
const mcpScript = `
import os, sys, types
os.environ["SUPERSET_OPERATOR__SECRET_KEY"] = "key"
scope = {}
def default(app):
    return scope.get("MCP_JWT_SECRET") if scope.get("MCP_AUTH_ENABLED") else None
for name in ("superset", "superset.mcp_service", "superset.mcp_service.mcp_config"):
    sys.modules[name] = types.ModuleType(name)
sys.modules["superset.mcp_service.mcp_config"].create_default_mcp_auth_factory = default
exec(compile(sys.stdin.read(), "superset_config.py", "exec"), scope)
provider = None
try:
    if factory := scope.get("MCP_AUTH_FACTORY"):
        provider = factory("app")
    elif scope.get("MCP_AUTH_ENABLED"):
        provider = default("app")
except Exception:
    pass
print("serves", provider)
`

func TestMCPServerRequiresAuth(t *testing.T) {
	const missing = "the MCP server has no authentication: set MCP_AUTH_ENABLED = True"
	cases := map[string]struct{ config, want string }{
		"nothing set":                 {"", missing},
		"no key":                      {"MCP_AUTH_ENABLED = True", missing},
		"a secret":                    {"MCP_AUTH_ENABLED = True\nMCP_JWT_SECRET = \"s\"", "serves s"},
		"explicitly disabled":         {"MCP_AUTH_ENABLED = False", "serves None"},
		"a factory":                   {"def MCP_AUTH_FACTORY(app):\n    return app", "serves app"},
		"a factory that returns None": {"def MCP_AUTH_FACTORY(app):\n    return None", missing},
		"a factory that raises":       {"def MCP_AUTH_FACTORY(app):\n    raise ValueError(\"a secret\")", "the authentication of the MCP server fails: ValueError. Correct"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), "python3", "-I", "-c", mcpScript)
			cmd.Stdin = strings.NewReader(pyconfig.Config(&resolve.Python{MCP: true, ComponentConfig: &tc.config}))
			out, err := cmd.CombinedOutput()
			got := string(out)
			if serves := strings.HasPrefix(tc.want, "serves"); serves != (err == nil) || !strings.HasPrefix(got, tc.want) {
				t.Errorf("%v: %s, want %s", err, got, tc.want)
			}
			if strings.Contains(got, "a secret") {
				t.Errorf("a secret is printed: %s", got)
			}
		})
	}
}

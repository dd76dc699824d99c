package superset_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/freeport"
	"github.com/flotilla-dev/flotilla/libs/testkit/postgres"
)

const (
	valkeyImage = "valkey"
	full        = "development-full" // the example with all components
	// everySecond is a user's addition to superset_config.py, as in the sample for a real node.
	everySecond = "\nCeleryConfig.beat_schedule = {\"reports.scheduler\": {\"task\": \"reports.scheduler\", \"schedule\": 1.0}}\n"
)

// platform is the metastore and the environment that the components of one instance share.
type platform struct {
	t     *testing.T
	env   map[string]string
	query func(statement string) string
}

func newPlatform(t *testing.T) platform {
	t.Helper()
	server := postgres.Shared(t)
	name := server.Database(t)
	uri := fmt.Sprintf("postgresql+psycopg2://%s:%s@%s:%d/%s", server.User, server.Password, server.Host, server.Port, name)
	p := platform{
		t: t, env: map[string]string{"SUPERSET_OPERATOR__DB_URI": uri, "POD_NAME": "pod-0"},
		query: func(statement string) string { return server.Query(t, name, statement) },
	}
	job := newPod(t, "6.0.0", full, "web-server").with(p.env)
	job.command = []string{"/bin/sh", "-c", "superset db upgrade && superset init"}
	job.succeeded()
	return p
}

// withValkey starts a Valkey that requires the password of the example.
func (p platform) withValkey() platform {
	p.t.Helper()
	port := freePort(p.t)
	password := newPod(p.t, "6.0.0", full, "celery-worker").env["SUPERSET_OPERATOR__VALKEY_PASS"]
	valkey := &pod{t: p.t, root: copyOf(p.t, valkeyImage), dir: "/tmp", command: []string{
		"valkey-server", "--save", "", "--bind", "127.0.0.1", "--port", strconv.Itoa(port), "--requirepass", password,
	}}
	valkey.start().waitForLog("Ready to accept connections")
	p.env["SUPERSET_OPERATOR__VALKEY_HOST"], p.env["SUPERSET_OPERATOR__VALKEY_PORT"] = "127.0.0.1", strconv.Itoa(port)
	return p
}

func (p platform) pod(workload string) *pod {
	p.t.Helper()
	return newPod(p.t, "6.0.0", full, workload).with(p.env)
}

func freePort(t *testing.T) int {
	t.Helper()
	port, err := freeport.One()
	must(t, err)
	return port
}

func (p *pod) at(port int) *web {
	return &web{pod: p, url: fmt.Sprintf("http://127.0.0.1:%d", port), port: port}
}

// listening starts a pod and waits until its health check at this path succeeds.
func (w *web) listening(health string) *web {
	w.pod.t.Helper()
	w.process = w.pod.start()
	w.waitForResponse(health, http.StatusOK, "OK")
	return w
}

func TestQueryRunsOnWorkerAndFlowerShowsIt(t *testing.T) {
	p := newPlatform(t).withValkey()
	worker := p.pod("celery-worker").with(map[string]string{"POD_NAME": "worker-0"}).start()
	web := newWeb(p.pod("web-server")).serving()
	web.waitForResponse("/async?sleep_ms=100", http.StatusOK, "superset async: version=6.0.0 pod=worker-0 databases=3")

	port := freePort(t)
	monitor := p.pod("celery-flower").with(map[string]string{"FLOWER_BASIC_AUTH": "operator:secret"})
	monitor.command = append(monitor.command, fmt.Sprintf("--port=%d", port))
	flower := monitor.at(port).listening("/flower/healthcheck")
	flower.answers("/flower/", http.StatusUnauthorized, "who are you")
	flower.answers("/other", http.StatusNotFound, "no such page")
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, flower.url+"/flower/", nil)
	must(t, err)
	request.Header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte("operator:secret")))
	if status, body, err := do(request); err != nil || status != http.StatusOK || !strings.Contains(body, "workers=1") {
		t.Errorf("flower returned %d %q (%v)", status, body, err)
	}
	flower.terminated()
	web.terminated()
	worker.terminated()
}

func TestBeatRunsConfiguredSchedule(t *testing.T) {
	p := newPlatform(t).withValkey()
	worker := p.pod("celery-worker").start()
	beat := p.pod("celery-beat")
	beat.configured("", everySecond)
	scheduler := beat.start()
	expect.Eventually(t, expect.Long, func() error {
		if got := p.query("SELECT count(*) FROM report_execution_log"); got == "0" {
			return fmt.Errorf("no scheduled report ran: %s", scheduler.log)
		}
		return nil
	})
	scheduler.terminated()
	worker.terminated()
}

func TestMCPServerReadsSecretsAndResponds(t *testing.T) {
	p := newPlatform(t).withValkey()
	port := freePort(t)
	p.pod("mcp-server").failed("the MCP server has no authentication")
	server := p.pod("mcp-server").replaced("9000", strconv.Itoa(port)).at(port)
	const check = "_mcp_auth_factory = "
	server.pod.configured(check, "MCP_AUTH_ENABLED = True\nMCP_JWT_SECRET = \"token\"\n"+check)
	server.process = server.pod.start()
	server.waitForResponse("/mcp", http.StatusMethodNotAllowed, "superset mcp: version=6.0.0")
	for body, want := range map[string]string{
		`{"jsonrpc": "2.0", "id": 1, "method": "initialize"}`: `"serverInfo": {"name": "superset", "version": "6.0.0", "pod": "pod-0"}`,
		`{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}`: `"code": -32601`,
		`[]`:      `"code": -32700`,
		`no JSON`: `"code": -32700`,
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.url+"/mcp", strings.NewReader(body))
		must(t, err)
		if status, got, err := do(request.Clone(t.Context())); err != nil || status != http.StatusUnauthorized {
			t.Errorf("%s without a token: got %d %q (%v), want 401", body, status, got, err)
		}
		request.Body, err = request.GetBody()
		must(t, err)
		request.Header.Set("Authorization", "Bearer token")
		if _, got, err := do(request); err != nil || !strings.Contains(got, want) {
			t.Errorf("%s: got %q (%v), want %s", body, got, err, want)
		}
	}
	server.terminated()
}

func TestWebsocketServerRejectsUnauthenticatedRequests(t *testing.T) {
	port := freePort(t)
	env := map[string]string{"PORT": strconv.Itoa(port)}
	websocketServer := func(command ...string) *pod {
		p := newPod(t, "6.0.0", full, "websocket-server").with(env)
		if len(p.command) != 0 {
			t.Fatalf("the operator sets the command %q", p.command)
		}
		p.command = command
		return p
	}
	websocketServer("node", "dist/index.js", "start").failed("at least 32 bytes long")
	env["JWT_SECRET"] = strings.Repeat("long enough ", 3)
	server := websocketServer("node", "dist/index.js", "start").at(port).listening("/health")
	server.answers("/", http.StatusNotFound, "Not Found")
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.url, nil)
	must(t, err)
	request.Header.Set("Connection", "Upgrade")
	request.Header.Set("Upgrade", "websocket")
	if status, body, err := do(request); err != nil || status != http.StatusUnauthorized {
		t.Errorf("an unauthenticated client got %d %q (%v), want 401", status, body, err)
	}
	server.terminated()
	websocketServer("node", "other.js").failed("only dist/index.js")
}

func TestAdministratorIsCreatedOnce(t *testing.T) {
	store := onPostgreSQL(t)
	instance{t, store}.pod("6.0.0", "migrate", oldKey, "").succeeded()
	job := func() string { return newPod(t, "6.0.0", "development", "init").with(store.env).succeeded() }
	if output := job(); !strings.Contains(output, "created.") {
		t.Errorf("the administrator was not created: %s", output)
	}
	if output := job(); !strings.Contains(output, "already exists") {
		t.Errorf("the administrator was created twice: %s", output)
	}
	if got := store.query(t, "SELECT count(*) FROM ab_user"); got != "1" {
		t.Errorf("got %s users, want 1", got)
	}
}

// TestPythonReadsRenderedConfigs loads the superset_config.py of each example with Python.
func TestPythonReadsRenderedConfigs(t *testing.T) {
	files, err := filepath.Glob(rendered + "/*/web-server-superset_config.py")
	must(t, err)
	if len(files) < 5 {
		t.Fatalf("only %d examples in %s", len(files), rendered)
	}
	for _, file := range files {
		example := filepath.Base(filepath.Dir(file))
		t.Run(example, func(t *testing.T) {
			reader := newPod(t, "6.0.0", example, "web-server")
			reader.command = []string{"/usr/bin/python3", "-c", "from superset import config; config.load()"}
			if output := reader.succeeded(); !strings.Contains(output, "Loaded your LOCAL configuration") {
				t.Errorf("superset_config.py was not loaded: %s", output)
			}
		})
	}
}

func TestProgramExitsOnInvalidConfig(t *testing.T) {
	for name, test := range map[string]struct{ config, reason string }{
		"no Python":        {"SECRET_KEY = (", "SyntaxError"},
		"raises":           {"raise RuntimeError('not like this')", "not like this"},
		"no metastore":     {"SECRET_KEY = 'x'", "superset_config.py sets no SQLALCHEMY_DATABASE_URI"},
		"no key":           {"SQLALCHEMY_DATABASE_URI = 'sqlite://'", "superset_config.py sets no SECRET_KEY"},
		"unknown database": {"SECRET_KEY = 'x'\nSQLALCHEMY_DATABASE_URI = 'oracle://x'", "oracle"},
	} {
		t.Run(name, func(t *testing.T) {
			job := newPod(t, "6.0.0", "staging", "migrate")
			job.write("app/pythonpath/superset_config.py", test.config)
			job.failed(test.reason)
		})
	}
}

package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/freeport"
	"github.com/flotilla-dev/flotilla/libs/testkit/goprogram"
	"github.com/flotilla-dev/flotilla/libs/testkit/proc"
	"github.com/flotilla-dev/flotilla/libs/testkit/stubengine/server"
)

const operator = "../../../../services/engine-operator"

const program = "github.com/flotilla-dev/flotilla/test/e2e/stub/cmd/engine"

// config returns the config.yaml of a generation from the operator's golden files.
func config(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(operator, "internal/render/testdata", name, "generation.golden.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	_, text2, ok := strings.Cut(string(text), "config.yaml: |\n")
	if !ok {
		t.Fatal("the golden file has no config.yaml")
	}
	var out strings.Builder
	for line := range strings.Lines(text2) {
		rest, inside := strings.CutPrefix(line, "    ")
		if !inside {
			break
		}
		out.WriteString(rest)
	}
	return out.String()
}

// metadata starts a metadata service whose health status the test sets.
func metadata(t *testing.T) (address string, state *health.Server) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	state = health.NewServer()
	state.SetServingStatus("", healthv1.HealthCheckResponse_NOT_SERVING)
	healthv1.RegisterHealthServer(server, state)
	go func() { _ = server.Serve(listener) }() // until Stop
	t.Cleanup(server.Stop)
	return listener.Addr().String(), state
}

type node struct {
	*proc.Child
	query, health, metrics string
	dir                    string // data directory
}

// start runs an engine with this config.yaml.
func start(t *testing.T, text string) node {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "config.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	ports, err := freeport.Pick(3)
	if err != nil {
		t.Fatal(err)
	}
	n := node{query: freeport.Address(ports[0]), health: freeport.Address(ports[1]), metrics: freeport.Address(ports[2]), dir: dir}
	n.Child = goprogram.Start(t, program, []string{"STUB_VERSION=v7"}, "server", "--node", "0", "--data-dir", dir,
		"--query-address", n.query, "--health-address", n.health, "--metrics-address", n.metrics)
	return n
}

func get(ctx context.Context, method, url, body string) (int, http.Header, string, error) {
	r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return 0, nil, "", err
	}
	answer, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	if err != nil {
		return 0, nil, "", err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	return answer.StatusCode, answer.Header, string(text), err
}

// waitForStatus waits for an HTTP status.
func waitForStatus(t *testing.T, n node, url string, want int) {
	t.Helper()
	expect.Eventually(t, expect.Long, func() error {
		if err := n.Running(); err != nil {
			return err
		}
		got, _, text, err := get(t.Context(), http.MethodGet, url, "")
		if err != nil {
			return err
		}
		if got != want {
			return fmt.Errorf("%s: %d %q, want %d", url, got, text, want)
		}
		return nil
	})
}

func TestEngineAcceptsRenderedConfig(t *testing.T) {
	address, state := metadata(t)
	n := start(t, strings.Replace(config(t, "minimal"), "shop-metadata.default.svc.cluster.local:7000", address, 1))
	waitForStatus(t, n, "http://"+n.health+"/health/live", http.StatusOK)
	waitForStatus(t, n, "http://"+n.health+"/health/ready", http.StatusServiceUnavailable)
	status, header, _, err := get(t.Context(), http.MethodPost, "http://"+n.query, "SELECT 1")
	if err != nil || status != http.StatusServiceUnavailable || header.Get("X-Firebolt-Drained") == "" {
		t.Errorf("a query before the engine is ready: %d %v %v, want 503 with X-Firebolt-Drained", status, header, err)
	}
	state.SetServingStatus("", healthv1.HealthCheckResponse_SERVING)
	waitForStatus(t, n, "http://"+n.health+"/health/ready", http.StatusOK)
	waitForStatus(t, n, "http://"+n.query+"/health/ready", http.StatusOK) // probed by the gateway

	_, _, text, err := get(t.Context(), http.MethodPost, "http://"+n.query+"/?database=x", "SELECT sleep(10ms)")
	var got server.Identity
	if err != nil || json.Unmarshal([]byte(text), &got) != nil {
		t.Fatalf("a query: %q %v", text, err)
	}
	want := server.Identity{Engine: "shop-engine", Generation: 3, Node: 0, Pod: "shop-engine-g3-0", Version: "v7"}
	if got != want {
		t.Errorf("answer = %+v, want %+v", got, want)
	}
	status, _, _, err = get(t.Context(), http.MethodPost, "http://"+n.query+"/?sleep=soon", "SELECT 1")
	if err != nil || status != http.StatusBadRequest {
		t.Errorf("an invalid duration: %d %v, want 400", status, err)
	}
}

func TestEngineRejectsInvalidConfig(t *testing.T) {
	valid := config(t, "layered") // it has settings of users
	for name, tc := range map[string]struct{ old, new, want string }{
		"an unknown key":       {"logging:", "loging:", "loging"},
		"a duplicate key":      {"schema_version:", "logging: {}\nschema_version:", "logging"},
		"another version":      {`"1.0"`, `"2.0"`, "schema_version"},
		"no metadata":          {"metadata_endpoint: other:7000", "metadata_endpoint: ''", "metadata_endpoint"},
		"another type":         {"type: multi_engine", "type: single", "instance.type"},
		"an invalid duration":  {"50s", "soon", "termination_grace_period"},
		"a foreign pod":        {"host: shop-engine-g3-0.", "host: other-g3-0.", "host of node 0"},
		"a configured refusal": {"schema_version:", "stub: {refuse: not today}\nschema_version:", "not today"},
	} {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(valid, tc.old) {
				t.Fatalf("the configuration has no %q:\n%s", tc.old, valid)
			}
			n := start(t, strings.Replace(valid, tc.old, tc.new, 1))
			if code, output := goprogram.Wait(t, n.Child, expect.Long); code != 1 || !strings.Contains(output, tc.want) {
				t.Errorf("exit status %d, %q, want 1 and %q", code, output, tc.want)
			}
		})
	}
}

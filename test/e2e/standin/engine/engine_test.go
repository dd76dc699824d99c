package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/freeport"
	"github.com/flotilla-dev/flotilla/test/e2e/standin/engine"
	"github.com/flotilla-dev/flotilla/test/e2e/standin/internal/program"
)

const operator = "../../../../services/engine-operator"

func TestMain(m *testing.M) { os.Exit(program.Main(m, "engine")) }

// config is what the operator renders for a generation of its own tests.
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

// metadata is a metadata service that says what it is told.
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
	*program.Process
	query, health, metrics string
	dir                    string // of its data
}

// start runs an engine with a configuration; its metadata service and its grace period may be replaced.
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
	n.Process = program.Start(t, []string{"STANDIN_VERSION=v7"}, "server", "--node", "0", "--data-dir", dir,
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

// becomes waits for a status.
func becomes(t *testing.T, n node, url string, want int) {
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

func TestAnEngineServesWhatTheOperatorRenders(t *testing.T) {
	address, state := metadata(t)
	n := start(t, strings.Replace(config(t, "minimal"), "shop-metadata.default.svc.cluster.local:7000", address, 1))
	becomes(t, n, "http://"+n.health+"/health/live", http.StatusOK)
	becomes(t, n, "http://"+n.health+"/health/ready", http.StatusServiceUnavailable)
	status, header, _, err := get(t.Context(), http.MethodPost, "http://"+n.query, "SELECT 1")
	if err != nil || status != http.StatusServiceUnavailable || header.Get("X-Firebolt-Drained") == "" {
		t.Errorf("a query before it is ready: %d %v %v, want a refusal", status, header, err)
	}
	state.SetServingStatus("", healthv1.HealthCheckResponse_SERVING)
	becomes(t, n, "http://"+n.health+"/health/ready", http.StatusOK)
	becomes(t, n, "http://"+n.query+"/health/ready", http.StatusOK) // where the gateway asks

	_, _, text, err := get(t.Context(), http.MethodPost, "http://"+n.query+"/?database=x", "SELECT sleep(10ms)")
	var got engine.Identity
	if err != nil || json.Unmarshal([]byte(text), &got) != nil {
		t.Fatalf("a query: %q %v", text, err)
	}
	want := engine.Identity{Engine: "shop-engine", Generation: 3, Node: 0, Pod: "shop-engine-g3-0", Version: "v7"}
	if got != want {
		t.Errorf("answer = %+v, want %+v", got, want)
	}
	status, _, _, err = get(t.Context(), http.MethodPost, "http://"+n.query+"/?sleep=soon", "SELECT 1")
	if err != nil || status != http.StatusBadRequest {
		t.Errorf("a length that is none: %d %v, want 400", status, err)
	}
}

func TestAnEngineFinishesItsQueriesAndRefusesOthers(t *testing.T) {
	queries := drainCheck(t)
	address, state := metadata(t)
	state.SetServingStatus("", healthv1.HealthCheckResponse_SERVING)
	n := start(t, strings.Replace(config(t, "minimal"), "shop-metadata.default.svc.cluster.local:7000", address, 1))
	becomes(t, n, "http://"+n.health+"/health/ready", http.StatusOK)
	if got := queries(n); got != "0" {
		t.Errorf("the operator counts %s queries of an idle engine", got)
	}
	answers := make(chan string, 2)
	for _, parameter := range []string{"sleep", "suspend"} {
		go func() {
			status, _, text, err := get(context.WithoutCancel(t.Context()), http.MethodPost, "http://"+n.query+"/?"+parameter+"=15s", "SELECT 1")
			answers <- fmt.Sprint(status, err, strings.Contains(text, `"generation":3`))
		}()
	}
	expect.Eventually(t, expect.Long, func() error {
		_, _, text, err := get(t.Context(), http.MethodGet, "http://"+n.metrics+"/metrics", "")
		if !strings.Contains(text, "\nfirebolt_running_queries 1\n") || !strings.Contains(text, "\nfirebolt_suspended_queries 1\n") {
			return errors.Join(err, fmt.Errorf("metrics: %s", text))
		}
		return nil
	})
	if got := queries(n); got != "2" {
		t.Errorf("the operator counts %s queries, want 2", got)
	}
	n.Signal(t, syscall.SIGTERM)
	becomes(t, n, "http://"+n.health+"/health/ready", http.StatusServiceUnavailable)
	becomes(t, n, "http://"+n.health+"/health/live", http.StatusOK)
	status, header, _, err := get(t.Context(), http.MethodPost, "http://"+n.query, "SELECT 1")
	if err != nil || status != http.StatusServiceUnavailable || header.Get("X-Firebolt-Drained") == "" {
		t.Errorf("a query after SIGTERM: %d %v %v, want a refusal", status, header, err)
	}
	for range 2 {
		if got := <-answers; got != "200 <nil> true" {
			t.Errorf("a query that ran when the engine was told to end: %s", got)
		}
	}
	if code, _ := n.Wait(t, expect.Long); code != 0 {
		t.Errorf("exit status %d", code)
	}
}

func TestAnEngineCutsWhatOutlastsItsGracePeriod(t *testing.T) {
	queries := drainCheck(t)
	address, state := metadata(t)
	state.SetServingStatus("", healthv1.HealthCheckResponse_SERVING)
	text := strings.Replace(config(t, "minimal"), "shop-metadata.default.svc.cluster.local:7000", address, 1)
	n := start(t, strings.Replace(text, "termination_grace_period: 55s", "termination_grace_period: 100ms", 1))
	becomes(t, n, "http://"+n.health+"/health/ready", http.StatusOK)
	answer := make(chan error, 1)
	go func() {
		status, _, _, err := get(context.WithoutCancel(t.Context()), http.MethodPost, "http://"+n.query+"/?sleep=1h", "") // cut
		if status != http.StatusOK {
			err = fmt.Errorf("the answer did not begin when the query was taken: %d %w", status, err)
		}
		answer <- err
	}()
	expect.Eventually(t, expect.Long, func() error {
		if got := queries(n); got != "1" {
			return fmt.Errorf("%s queries", got)
		}
		return nil
	})
	n.Signal(t, syscall.SIGTERM)
	if code, said := n.Wait(t, expect.Long); code != 1 || !strings.Contains(said, "cut off") {
		t.Errorf("exit status %d, %q", code, said)
	}
	if err := <-answer; !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a query of an hour: %v, want an answer that breaks off", err)
	}
}

func TestAQuerySpillsToTheLocalDisk(t *testing.T) {
	address, state := metadata(t)
	state.SetServingStatus("", healthv1.HealthCheckResponse_SERVING)
	n := start(t, strings.Replace(config(t, "minimal"), "shop-metadata.default.svc.cluster.local:7000", address, 1))
	becomes(t, n, "http://"+n.health+"/health/ready", http.StatusOK)
	for parameter, want := range map[string]int{"3000000": http.StatusOK, "much": http.StatusBadRequest} {
		status, _, text, err := get(t.Context(), http.MethodPost, "http://"+n.query+"/?spill="+parameter, "SELECT 1")
		if err != nil || status != want {
			t.Errorf("spill=%s: %d %q %v, want %d", parameter, status, text, err, want)
		}
	}
	if file, err := os.Stat(filepath.Join(n.dir, "spill")); err != nil || file.Size() != 3000000 {
		t.Errorf("what was spilled: %+v %v", file, err)
	}
}

func TestAConfigurationIsRefused(t *testing.T) {
	good := config(t, "layered") // which has the users' part
	for name, tc := range map[string]struct{ old, new, want string }{
		"an unknown key":     {"logging:", "loging:", "loging"},
		"twice the same key": {"schema_version:", "logging: {}\nschema_version:", "logging"},
		"another version":    {`"1.0"`, `"2.0"`, "schema_version"},
		"no metadata":        {"metadata_endpoint: other:7000", "metadata_endpoint: ''", "metadata_endpoint"},
		"another type":       {"type: multi_engine", "type: single", "instance.type"},
		"no duration":        {"55s", "soon", "termination_grace_period"},
		"a stranger's pod":   {"host: shop-engine-g3-0.", "host: other-g3-0.", "host of node 0"},
		"as told":            {"schema_version:", "standin: {refuse: not today}\nschema_version:", "not today"},
	} {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(good, tc.old) {
				t.Fatalf("the configuration has no %q:\n%s", tc.old, good)
			}
			n := start(t, strings.Replace(good, tc.old, tc.new, 1))
			if code, said := n.Wait(t, expect.Long); code != 1 || !strings.Contains(said, tc.want) {
				t.Errorf("exit status %d, %q, want 1 and %q", code, said, tc.want)
			}
		})
	}
}

// drainCheck returns what counts the queries of an engine as the operator does, with the operator's own prober. The
// program exists only while it is built, inside the operator's module, since the prober is internal there.
func drainCheck(t *testing.T) func(n node) string {
	t.Helper()
	dir := t.TempDir()
	absolute := func(path string) string {
		out, err := filepath.Abs(path)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{
		absolute(operator + "/cmd/drain-check/main.go"): absolute("testdata/drain/main.go"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	check := filepath.Join(dir, "drain-check")
	build := exec.CommandContext(t.Context(), "go", "build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", check, "./cmd/drain-check")
	build.Dir = absolute(operator)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return func(n node) string {
		host, port, err := net.SplitHostPort(n.metrics)
		if err != nil {
			t.Fatal(err)
		}
		out, err := exec.CommandContext(t.Context(), check, host, port).CombinedOutput()
		if err != nil {
			t.Fatalf("drain check: %v\n%s", err, out)
		}
		return strings.TrimSpace(string(out))
	}
}

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

	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/goprogram"
)

func TestEngineFinishesQueriesAndRejectsNew(t *testing.T) {
	queries := drainCheck(t)
	address, state := metadata(t)
	state.SetServingStatus("", healthv1.HealthCheckResponse_SERVING)
	n := start(t, strings.Replace(config(t, "minimal"), "shop-metadata.default.svc.cluster.local:7000", address, 1))
	waitForStatus(t, n, "http://"+n.health+"/health/ready", http.StatusOK)
	if got := queries(n); got != "0" {
		t.Errorf("the operator counts %s queries of an idle engine, want 0", got)
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
	n.Signal(syscall.SIGTERM)
	waitForStatus(t, n, "http://"+n.health+"/health/ready", http.StatusServiceUnavailable)
	waitForStatus(t, n, "http://"+n.health+"/health/live", http.StatusOK)
	status, header, _, err := get(t.Context(), http.MethodPost, "http://"+n.query, "SELECT 1")
	if err != nil || status != http.StatusServiceUnavailable || header.Get("X-Firebolt-Drained") == "" {
		t.Errorf("a query after SIGTERM: %d %v %v, want 503 with X-Firebolt-Drained", status, header, err)
	}
	for range 2 {
		if got := <-answers; got != "200 <nil> true" {
			t.Errorf("a query that was running at SIGTERM: %s", got)
		}
	}
	if code, _ := goprogram.Wait(t, n.Child, expect.Long); code != 0 {
		t.Errorf("exit status %d", code)
	}
}

func TestEngineCutsQueriesAfterGracePeriod(t *testing.T) {
	queries := drainCheck(t)
	address, state := metadata(t)
	state.SetServingStatus("", healthv1.HealthCheckResponse_SERVING)
	text := strings.Replace(config(t, "minimal"), "shop-metadata.default.svc.cluster.local:7000", address, 1)
	n := start(t, strings.Replace(text, "termination_grace_period: 50s", "termination_grace_period: 100ms", 1))
	waitForStatus(t, n, "http://"+n.health+"/health/ready", http.StatusOK)
	answer := make(chan error, 1)
	go func() {
		status, _, _, err := get(context.WithoutCancel(t.Context()), http.MethodPost, "http://"+n.query+"/?sleep=1h", "") // cut
		if status != http.StatusOK {
			err = fmt.Errorf("the answer did not begin when the query was accepted: %d %w", status, err)
		}
		answer <- err
	}()
	expect.Eventually(t, expect.Long, func() error {
		if got := queries(n); got != "1" {
			return fmt.Errorf("%s queries", got)
		}
		return nil
	})
	n.Signal(syscall.SIGTERM)
	if code, output := goprogram.Wait(t, n.Child, expect.Long); code != 1 || !strings.Contains(output, "cut off") {
		t.Errorf("exit status %d, %q", code, output)
	}
	if err := <-answer; !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a query of one hour: %v, want an answer that is cut off", err)
	}
}

func TestQuerySpillsToLocalDisk(t *testing.T) {
	address, state := metadata(t)
	state.SetServingStatus("", healthv1.HealthCheckResponse_SERVING)
	n := start(t, strings.Replace(config(t, "minimal"), "shop-metadata.default.svc.cluster.local:7000", address, 1))
	waitForStatus(t, n, "http://"+n.health+"/health/ready", http.StatusOK)
	for parameter, want := range map[string]int{"3000000": http.StatusOK, "much": http.StatusBadRequest} {
		status, _, text, err := get(t.Context(), http.MethodPost, "http://"+n.query+"/?spill="+parameter, "SELECT 1")
		if err != nil || status != want {
			t.Errorf("spill=%s: %d %q %v, want %d", parameter, status, text, err, want)
		}
	}
	if file, err := os.Stat(filepath.Join(n.dir, "spill")); err != nil || file.Size() != 3000000 {
		t.Errorf("spilled file: %+v %v", file, err)
	}
}

// drainCheck returns a function that counts the queries of an engine with the operator's prober. The prober is internal to
// the operator's module, so a build overlay adds the program to that module.
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

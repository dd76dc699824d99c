package cluster

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flotilla-dev/flotilla/test/e2e/load"
	"github.com/flotilla-dev/flotilla/test/e2e/run"
)

// connect returns a Cluster whose API server is replaced by handler.
func connect(t *testing.T, handler http.Handler) *Cluster {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	path := filepath.Join(t.TempDir(), "kubeconfig")
	config := `{apiVersion: v1, kind: Config, current-context: a, contexts: [{name: a, context: {cluster: a}}], clusters: [{name: a, cluster: {server: "` + server.URL + `"}}]}`
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Connect(t.Context(), path, Tools{Kubectl: "cat"})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestLoadgenIsReachedThroughAPIServer(t *testing.T) {
	recorder := load.NewRecorder(time.Now, "begin")
	mux := http.NewServeMux()
	mux.HandleFunc("/readyz", func(http.ResponseWriter, *http.Request) {})
	var busy atomic.Int32
	proxied := http.StripPrefix("/api/v1/namespaces/n/pods/loadgen:8090/proxy", load.Control(recorder))
	mux.HandleFunc("/api/v1/namespaces/n/", func(w http.ResponseWriter, r *http.Request) {
		if busy.Add(1) == 1 {
			http.Error(w, "busy", http.StatusServiceUnavailable) // retried
			return
		}
		proxied.ServeHTTP(w, r)
	})
	a := &Loadgen{connect(t, mux), "n", "loadgen"}
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	if _, err := a.Reset(ctx, "scale 1 to 3"); err != nil {
		t.Fatal(err)
	}
	if got, err := a.Phase(ctx, "stop & start"); err != nil || len(got) != 2 || got[1].Phase != "stop & start" {
		t.Errorf("%+v, %v", got, err)
	}
	recorder.Add(load.Outcome{Class: "200 engine", Good: true})
	if err := a.WaitForClass(ctx, &run.Step{}, "200 engine"); err != nil {
		t.Error(err)
	}
	if got, err := a.Figures(ctx); err != nil || len(got) != 2 || got[0].Phase != "scale 1 to 3" {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestKubectlReturnsErrorOutput(t *testing.T) {
	c := &Cluster{kubectl: "cat", kubeconfig: "x"}
	if _, err := c.Kubectl(t.Context(), "", "apply"); err == nil || !strings.Contains(err.Error(), "apply") || !strings.Contains(err.Error(), "cat:") {
		t.Error(err)
	}
}

func TestConnectFailsWithoutKubeconfig(t *testing.T) {
	if _, err := Connect(t.Context(), filepath.Join(t.TempDir(), "none"), Tools{}); err == nil {
		t.Error("no error")
	}
}

// namespaces serves a namespace. Each DELETE request returns the next status; the last status repeats until the namespace is
// patched, and then it no longer exists.
func namespaces(statuses ...int) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /readyz", func(http.ResponseWriter, *http.Request) {})
	respond := func(w http.ResponseWriter, path, text string) {
		w.Header().Set("Content-Type", "application/json")
		if path == "/api/v1" {
			text = `{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"namespaces","kind":"Namespace","verbs":["delete","get","patch"]}]}`
		}
		_, _ = w.Write([]byte(text))
	}
	mux.HandleFunc("GET /", func(w http.ResponseWriter, r *http.Request) {
		respond(w, r.URL.Path, `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"n"},"status":{"conditions":[{"type":"Stuck"}]}}`)
	})
	var calls atomic.Int32
	var patched atomic.Bool
	mux.HandleFunc("PATCH /api/v1/namespaces/n", func(w http.ResponseWriter, r *http.Request) {
		patched.Store(true)
		respond(w, r.URL.Path, `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"n"}}`)
	})
	mux.HandleFunc("DELETE /api/v1/namespaces/n", func(w http.ResponseWriter, _ *http.Request) {
		status := statuses[min(int(calls.Add(1)), len(statuses))-1]
		if patched.Load() {
			status = http.StatusNotFound
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		reason := map[int]string{http.StatusNotFound: "NotFound", http.StatusConflict: "Conflict", http.StatusForbidden: "Forbidden"}[status]
		fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","code":%d,"reason":%q}`, status, reason)
	})
	return mux
}

func TestRemoveNamespaceWaitsForDeletion(t *testing.T) {
	c := connect(t, namespaces(http.StatusOK, http.StatusConflict, http.StatusNotFound))
	if err := c.RemoveNamespace(t.Context(), "n"); err != nil {
		t.Error(err)
	}
}

func TestRemoveNamespaceHastensDeletion(t *testing.T) {
	if err := connect(t, namespaces(http.StatusConflict)).RemoveNamespace(t.Context(), "n"); err != nil {
		t.Error(err)
	}
}

func TestRemoveNamespaceReportsBlockingCause(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := connect(t, namespaces(http.StatusConflict)).RemoveNamespace(ctx, "n"); err == nil || !strings.Contains(err.Error(), "Stuck") {
		t.Errorf("a namespace that is not deleted: %v", err)
	}
	if err := connect(t, namespaces(http.StatusForbidden)).RemoveNamespace(t.Context(), "n"); err == nil {
		t.Error("no error for a forbidden deletion")
	}
}

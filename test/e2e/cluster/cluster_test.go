package cluster

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flotilla-dev/flotilla/test/e2e/load"
)

// connect connects to a server that stands where the API server would.
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

func TestAnAskerIsReachedOverTheAPIServer(t *testing.T) {
	tally := load.NewTally(time.Now, "begin")
	mux := http.NewServeMux()
	mux.HandleFunc("/readyz", func(http.ResponseWriter, *http.Request) {})
	var busy atomic.Int32
	proxied := http.StripPrefix("/api/v1/namespaces/n/pods/asker:8090/proxy", load.Control(tally))
	mux.HandleFunc("/api/v1/namespaces/n/", func(w http.ResponseWriter, r *http.Request) {
		if busy.Add(1) == 1 {
			http.Error(w, "busy", http.StatusServiceUnavailable) // asked again
			return
		}
		proxied.ServeHTTP(w, r)
	})
	a := &Asker{connect(t, mux), "n", "asker"}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := a.Reset(ctx, "scale 1 to 3"); err != nil {
		t.Fatal(err)
	}
	if got, err := a.Phase(ctx, "stop & start"); err != nil || len(got) != 2 || got[1].Phase != "stop & start" {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := a.Figures(ctx); err != nil || len(got) != 2 || got[0].Phase != "scale 1 to 3" {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestAProgramThatFailsSaysWhy(t *testing.T) {
	c := &Cluster{kubectl: "cat", kubeconfig: "x"}
	if _, err := c.Kubectl(t.Context(), "", "apply"); err == nil || !strings.Contains(err.Error(), "apply") || !strings.Contains(err.Error(), "cat:") {
		t.Error(err)
	}
}

func TestNoClusterIsSaidAtOnce(t *testing.T) {
	if _, err := Connect(t.Context(), filepath.Join(t.TempDir(), "none"), Tools{}); err == nil {
		t.Error("no error")
	}
}

package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
)

// TestWaitIsNeverEarly changes the spec a hundred times while the status still reports success for the
// old spec. A wait that starts then must read the status, find it outdated, and end only with the status of the new spec.
func TestWaitIsNeverEarly(t *testing.T) {
	ns := cluster.Get(t).Namespace(t)
	sup := create(t, ns, "fleet.yaml")[0]
	setHealthy(t, sup)
	cl := cluster.Get(t).Client(t, runtime.NewScheme())
	s := newShell(t, ns)
	criteria := []string{"condition=Available", "phase=Running", "deployed-version=6.0.0"}
	for i := range 100 {
		spec := fmt.Appendf(nil, `{"spec":{"webServer":{"replicas":%d}}}`, 1+i%2)
		if err := cl.Patch(t.Context(), sup, client.RawPatch(types.MergePatchType, spec)); err != nil {
			t.Fatal(err)
		}
		generation := sup.GetGeneration()
		checks := make(chan string, 16)
		s.app = func(a *App) { a.Checked = func(missing string) { checks <- missing } }
		ctx, cancel := context.WithCancel(t.Context())
		done := s.background(ctx, "wait", "superset/main", "--for="+criteria[i%len(criteria)], "--timeout=1m")
		// Two checks: its own and that of the watch. Both see the old status.
		for range 2 {
			if missing := <-checks; !strings.Contains(missing, fmt.Sprintf("observed generation %d, want %d", generation-1, generation)) {
				t.Fatalf("change %d: a check of generation %d reported %q", i, generation, missing)
			}
		}
		select {
		case err := <-done:
			t.Fatalf("change %d: the wait ended early with %v", i, err)
		default:
		}
		setHealthy(t, sup)
		if err := <-done; err != nil {
			t.Fatalf("change %d: %v", i, err)
		}
		cancel()
	}
}

// setHealthy writes the status of a healthy object for its latest spec.
func setHealthy(t *testing.T, sup *unstructured.Unstructured) {
	t.Helper()
	setStatus(t, sup, map[string]any{
		"observedGeneration": sup.GetGeneration(), "phase": "Running", "lastLifecycleImage": "apache/superset:6.0.0",
		"conditions": []any{condition("Available", "True", "AllComponentsReady", sup.GetGeneration())},
	})
}

func TestWaitTimeoutReportsUnmetCriterion(t *testing.T) {
	ns := cluster.Get(t).Namespace(t)
	create(t, ns, "fleet.yaml")
	s := newShell(t, ns)
	for args, want := range map[string]string{
		"superset/main --for=condition=Available": "superset/main: no condition Available=True within 50ms: condition Available is False (InsufficientReplicas: webServer: 0 of 2",
		"superset/new":                                          "superset/new: no condition Available=True within 50ms: there is no condition Available",
		"superset/main --for=phase=Running":                     `superset/main: no phase Running within 50ms: the phase is "Degraded"`,
		"superset/main --for=deployed-version=6.1.0":            `the deployed version is "6.0.0"`,
		"superset/main fire/shop --for=condition=Degraded=True": "fireboltinstance/shop: no condition Degraded=True within",
	} {
		s.fail(want, append([]string{"wait", "--timeout=50ms"}, strings.Fields(args)...)...)
	}
	s.fail("no condition Reday=True within 50ms: there is no condition Reday", "wait", "superset/main", "--for=condition=Reday", "--timeout=50ms")
	if note := "note: superset/main has no condition Reday; it has Available"; !strings.Contains(s.err.String(), note) {
		t.Errorf("want %q in %q", note, s.err)
	}
	s.fail("superset/main: no condition Available=True: condition Available is False", "wait", "superset/main", "--timeout=0")
	if out := s.run("wait", "superset/main", "--for=condition=degraded=true"); out != "superset/main: condition degraded=true\n" {
		t.Errorf("got %q", out)
	}
}

// TestWaitEndsOnInterrupt interrupts the first read, to which the API server does not respond.
func TestWaitEndsOnInterrupt(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	server := proxied(t, func(r *http.Request) http.HandlerFunc {
		if !strings.Contains(r.URL.Path, "/supersets/") {
			return nil
		}
		return func(_ http.ResponseWriter, r *http.Request) {
			interrupt()
			select {
			case <-r.Context().Done():
			case <-t.Context().Done():
			}
		}
	})
	s := newShell(t, cluster.Get(t).Namespace(t))
	err := s.ended(s.background(ctx, "wait", "superset/main", "superset/new", "--server="+server))
	if err == nil || err.Error() != "superset/main: interrupted while waiting for condition Available=True" {
		t.Errorf("got %v", err)
	}
}

// proxied returns the URL of a proxy of the API server; instead handles the requests for which it returns a handler.
func proxied(t *testing.T, instead func(*http.Request) http.HandlerFunc) string {
	t.Helper()
	host, err := url.Parse(cluster.Get(t).Config.Host)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(host)
	if proxy.Transport, err = rest.TransportFor(cluster.Get(t).Config); err != nil {
		t.Fatal(err)
	}
	proxy.FlushInterval = -1 // watches
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if handle := instead(r); handle != nil {
			handle(w, r)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// The watch cache of the API server lags: the list after the first read does not have the resource yet.
func TestWaitToleratesStaleList(t *testing.T) {
	ns := cluster.Get(t).Namespace(t)
	before := &unstructured.UnstructuredList{}
	before.SetAPIVersion("superset.apache.org/v1alpha1")
	before.SetKind("SupersetList")
	if err := cluster.Get(t).Client(t, runtime.NewScheme()).List(t.Context(), before, client.InNamespace(ns)); err != nil {
		t.Fatal(err)
	}
	create(t, ns, "fleet.yaml")
	reads, confirmed := 0, make(chan struct{})
	server := proxied(t, func(r *http.Request) http.HandlerFunc {
		query := r.URL.Query()
		switch {
		case strings.HasSuffix(r.URL.Path, "/supersets/main"):
			if reads++; reads == 2 {
				close(confirmed)
			}
			return nil
		case !strings.HasSuffix(r.URL.Path, "/supersets"):
			return nil
		case query.Get("sendInitialEvents") != "": // without WatchList
			return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnprocessableEntity) }
		case query.Get("watch") == "true":
			select {
			case <-confirmed:
			case <-r.Context().Done():
			}
			return nil
		}
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if err := json.NewEncoder(w).Encode(before); err != nil {
				t.Error(err)
			}
		}
	})
	checks := make(chan string, 16)
	s := newShell(t, ns)
	s.app = func(a *App) { a.Checked = func(missing string) { checks <- missing } }
	ctx, interrupt := context.WithCancel(t.Context())
	done := s.background(ctx, "wait", "superset/main", "--timeout=1m", "--server="+server)
	<-checks
	select {
	case <-checks: // of the watch
		interrupt()
		<-done
	case err := <-done:
		interrupt()
		t.Errorf("the wait ended: %v", err)
	}
}

func TestWaitEndsOnDeletion(t *testing.T) {
	ns := cluster.Get(t).Namespace(t)
	sup := create(t, ns, "fleet.yaml")[0]
	checks := make(chan string, 16)
	s := newShell(t, ns)
	s.app = func(a *App) { a.Checked = func(missing string) { checks <- missing } }
	done := s.background(t.Context(), "wait", "superset/main", "--timeout=1m")
	<-checks
	<-checks // the watch has seen it
	if err := cluster.Get(t).Client(t, runtime.NewScheme()).Delete(t.Context(), sup); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err == nil || !strings.Contains(err.Error(), "deleted while waiting") {
		t.Errorf("got %v", err)
	}
}

// The resource is deleted after the first check, so that the watch never sees it.
func TestWaitEndsOnDeletionBeforeWatch(t *testing.T) {
	ns := cluster.Get(t).Namespace(t)
	sup := create(t, ns, "fleet.yaml")[0]
	s := newShell(t, ns)
	remove := sync.OnceValue(func() error {
		return cluster.Get(t).Client(t, runtime.NewScheme()).Delete(t.Context(), sup)
	})
	s.app = func(a *App) {
		a.Checked = func(string) {
			if err := remove(); err != nil {
				t.Error(err)
			}
		}
	}
	s.fail("deleted while waiting", "wait", "superset/main", "--timeout=1m")
}

func TestWaitRejectsInvalidCriterion(t *testing.T) {
	s := newShell(t, cluster.Get(t).Namespace(t))
	s.fail("not one of condition, phase and deployed-version", "wait", "superset/main", "--for=delete=true")
	s.fail("want condition=TYPE", "wait", "superset/main", "--for=condition=")
	s.fail("must not be negative", "wait", "superset/main", "--timeout=-1s")
	s.fail("not found in namespace", "wait", "superset/none")
}

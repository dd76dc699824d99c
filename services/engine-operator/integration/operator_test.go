package integration

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/flotilla-dev/flotilla/libs/kube/service"
	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/reconciletest"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/app"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/drain"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/render"
)

var images = render.Images{
	Engine: "example.com/engine:1.0", Web: "example.com/web:1.0",
	Metadata: "example.com/metadata:1.0", Postgres: "postgres:16-alpine", Gateway: "envoyproxy/envoy:v1.40.0",
}

// operator runs an engine operator in this process, for one namespace. It can be stopped
// and restarted.
type operator struct {
	t         *testing.T
	namespace string
	queries   *queries
	settings  app.Options
	logged    *lines
	// transport queries the pods; queries by default.
	transport drain.Transport
	// workers is the number of concurrent reconciles of engines.
	workers int
	// mortal, if set, makes the operator's requests fail after a write that it selects.
	crashingTransport *crashingTransport
	// newClient, if set, creates the operator's client.
	newClient client.NewClientFunc
	// newCache, if set, creates the operator's cache.
	newCache cache.NewCacheFunc
	// conflicts, if set, rejects status writes of a stale client.
	conflicts *conflicts
	clock     clock.WithTicker
	requests  *counter
	stop      context.CancelFunc
	done      chan error
	// checkResults checks the results of the reconciles after the stop.
	checkResults func()
}

// start runs an operator until the test ends.
func start(t *testing.T, namespace string) *operator {
	t.Helper()
	o := &operator{
		t: t, namespace: namespace, queries: &queries{}, requests: &counter{}, clock: clock.RealClock{},
		settings: app.Options{Images: images}, logged: &lines{}, workers: 4,
	}
	o.transport = o.queries
	o.authorize()
	o.run()
	t.Cleanup(o.stopAndWait)
	return o
}

// user returns the operator's user name in the API server. It has the permissions of config/rbac in
// its namespace only.
func (o *operator) user() string { return "system:serviceaccount:" + o.namespace + ":engine-operator" }

func (o *operator) authorize() {
	o.t.Helper()
	api := apiServer(o.t)
	leases := &rbacv1.Role{}
	if err := convert(manifests(o.t, "../config/rbac/leader_role.yaml")[0].Object, leases); err != nil {
		o.t.Fatal(err)
	}
	leases.Namespace = o.namespace
	bind := func(kind, name string) *rbacv1.RoleBinding {
		return &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: o.namespace, Name: name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: name},
			Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: o.namespace, Name: "engine-operator"}},
		}
	}
	for _, object := range []client.Object{leases, bind("Role", leases.Name), bind("ClusterRole", "flotilla-engine-operator")} {
		if err := api.Create(o.t.Context(), object); err != nil {
			o.t.Fatal(err)
		}
	}
}

func (o *operator) run() {
	o.t.Helper()
	cfg := rest.CopyConfig(cluster.Get(o.t).Config)
	cfg.Impersonate.UserName = o.user()
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return &counting{next: next, counter: o.requests, crashingTransport: o.crashingTransport}
	})
	logger, checkResults := reconciletest.Watch(o.t, zap.New(zap.WriteTo(io.MultiWriter(testWriter{o.t}, o.logged))))
	o.checkResults = checkResults
	spec := app.Spec()
	options := ctrl.Options{
		Scheme:  scheme(o.t),
		Metrics: metricsserver.Options{BindAddress: "0"},
		Logger:  logger,
	}
	options.Cache = cache.Options{DefaultNamespaces: map[string]cache.Config{o.namespace: {}}}
	spec.CacheOptions(&options.Cache)
	skip := true
	options.Controller.SkipNameValidation = &skip
	options.Controller.MaxConcurrentReconciles = o.workers
	options.NewClient, options.NewCache = o.newClient, o.newCache
	mgr, err := ctrl.NewManager(cfg, options)
	if err != nil {
		o.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	rt := &service.Runtime{
		Manager: mgr, Clock: o.clock, Instance: "test",
		Options: service.Options{ConditionsLeaseNamespace: o.namespace},
	}
	transports := map[v1alpha1.ScrapeMode]drain.Transport{v1alpha1.ScrapePodIP: o.transport}
	if err := app.Controllers(ctx, rt, o.settings, transports); err != nil {
		cancel()
		o.t.Fatal(err)
	}
	o.stop, o.done = cancel, make(chan error, 1)
	go func() { o.done <- mgr.Start(ctx) }()
}

// stopAndWait stops the operator at any point and waits for its end.
func (o *operator) stopAndWait() {
	if o.stop == nil {
		return
	}
	o.stop()
	o.stop = nil
	if err := <-o.done; err != nil {
		o.t.Errorf("operator: %v", err)
	}
	o.checkResults()
}

// queries responds for the simulated pods.
type queries struct {
	running atomic.Int64
	failing atomic.Bool
	scrapes atomic.Int64
}

func (q *queries) Metrics(_ context.Context, _ *corev1.Pod) (io.ReadCloser, error) {
	q.scrapes.Add(1)
	if q.failing.Load() {
		return nil, fmt.Errorf("connection refused")
	}
	page := fmt.Sprintf("firebolt_running_queries %d\nfirebolt_suspended_queries 0\n", q.running.Load())
	return io.NopCloser(strings.NewReader(page)), nil
}

// counter counts requests to the API server, except watches and Leases.
type counter struct {
	mu          sync.Mutex
	requests    []string
	lastWriteAt time.Time // time of the last write
}

func (c *counter) add(r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests = append(c.requests, r.Method+" "+r.URL.Path)
	if r.Method != http.MethodGet {
		c.lastWriteAt = time.Now()
	}
}

// waitForIdle waits until the operator has written nothing for a while, so that a stop interrupts no reconcile.
func (o *operator) waitForIdle() {
	o.t.Helper()
	expect.Eventually(o.t, expect.Long, func() error {
		o.requests.mu.Lock()
		defer o.requests.mu.Unlock()
		if elapsed := time.Since(o.requests.lastWriteAt); elapsed < 2*short {
			return fmt.Errorf("the last write was %s ago", elapsed)
		}
		return nil
	})
}

// checkRestartWritesNothing restarts an idle operator and checks that the new process writes nothing.
func (o *operator) checkRestartWritesNothing(watched time.Duration) {
	o.t.Helper()
	o.waitForIdle()
	o.stopAndWait()
	o.requests.reset()
	o.run()
	expect.Never(o.t, watched, func() error {
		if w := o.requests.list(true); len(w) > 0 {
			return fmt.Errorf("%s", strings.Join(w, ", "))
		}
		return nil
	})
}

// reset clears the counts.
func (c *counter) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests = nil
}

// list returns the counted requests; with writes, only those that are not reads.
func (c *counter) list(writes bool) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []string
	for _, r := range c.requests {
		if !writes || !strings.HasPrefix(r, http.MethodGet+" ") {
			out = append(out, r)
		}
	}
	return out
}

type counting struct {
	next              http.RoundTripper
	counter           *counter
	crashingTransport *crashingTransport
}

func (c *counting) RoundTrip(r *http.Request) (*http.Response, error) {
	query := r.URL.Query()
	if query.Get("watch") != "true" && !strings.Contains(r.URL.Path, "/leases") && strings.Contains(r.URL.Path, "/namespaces/") {
		c.counter.add(r)
	}
	return c.crashingTransport.roundTrip(c.next, r)
}

// testWriter writes the operator's log to the test's.
type testWriter struct{ t *testing.T }

func (w testWriter) Write(p []byte) (int, error) {
	w.t.Log(strings.TrimSpace(string(p)))
	return len(p), nil
}

const short = 500 * time.Millisecond

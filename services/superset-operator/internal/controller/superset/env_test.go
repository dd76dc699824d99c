package superset_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/kube/standalone"
	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/reconciletest"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/app"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/controller/superset"
)

const (
	crdDir  = "../../../config/crd"
	samples = "../../../config/samples"
	// timeout is enough for a whole upgrade on a busy machine.
	timeout = 5 * time.Minute
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	flag.Parse()
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "test.parallel" })
	// These tests wait for controllers most of the time, so more of them run in parallel than there are cores.
	if !chosen {
		if err := flag.Set("test.parallel", "6"); err != nil {
			panic(err)
		}
	}
	os.Exit(cluster.Main(m, cluster.Options{CRDs: []string{crdDir}}))
}

// env is a running operator in its own namespace.
type env struct {
	t         *testing.T
	namespace string
	// client reads and writes as a user.
	client client.Client
	// reconciler is the reconciler under test; its controller calls it unless the environment is idle.
	reconciler *superset.Reconciler
	requests   *requests
	reports    *reports
	manager    ctrl.Manager
	clock      clock.PassiveClock
}

// options configure an environment.
type options struct {
	// idle starts no controller: the test calls Reconcile.
	idle bool
	// wrap replaces the operator's client.
	wrap  func(client.Client) client.Client
	clock clock.PassiveClock
	// before runs before the operator starts; may be nil.
	before func(*env)
	// observations publishes to a bus; nil for none.
	observations *bus.ObservationPublisher
	// cluster defaults to the cluster that the package shares.
	cluster *cluster.Cluster
}

func scheme(t testing.TB) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	if err := errors.Join(clientscheme.AddToScheme(s), v1alpha1.AddToScheme(s)); err != nil {
		t.Fatal(err)
	}
	return s
}

// start runs the operator as main does, except for leader election, and without a bus.
func start(t *testing.T, o options) *env {
	t.Helper()
	c := o.cluster
	if c == nil {
		c = cluster.Get(t)
	}
	e := &env{t: t, namespace: c.Namespace(t), client: c.Client(t, scheme(t)), requests: &requests{}}
	grant(t, c, e.namespace)
	if o.before != nil {
		o.before(e)
	}
	cfg := rest.CopyConfig(c.Config)
	cfg.Impersonate.UserName = account
	e.operator(cfg, o)
	return e
}

// operator starts one more operator process in the namespace of the environment.
func (e *env) operator(cfg *rest.Config, o options) {
	e.t.Helper()
	cfg.Wrap(e.requests.wrap)
	cacheOptions := cache.Options{DefaultNamespaces: map[string]cache.Config{e.namespace: {}}}
	app.CacheOptions(&cacheOptions)
	log, checkResults := reconciletest.Watch(e.t, logr.Discard())
	e.t.Cleanup(checkResults) // after the manager has ended
	skip := true
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme: scheme(e.t), Cache: cacheOptions, Metrics: server.Options{BindAddress: "0"},
		Logger: log, Controller: config.Controller{SkipNameValidation: &skip},
	})
	if err != nil {
		e.t.Fatal(err)
	}
	if o.clock == nil {
		o.clock = clock.RealClock{}
	}
	// No aggregator holds the lease in this namespace, so the operator writes the conditions itself.
	watcher, err := standalone.NewLeaseWatcher(mgr, e.namespace)
	if err != nil {
		e.t.Fatal(err)
	}
	e.manager, e.clock = mgr, o.clock
	e.reports = &reports{watcher: watcher, bus: o.observations}
	e.reconciler = e.process(o.wrap)
	if o.idle {
		err = superset.Index(e.t.Context(), mgr)
	} else {
		err = e.reconciler.SetupWithManager(e.t.Context(), mgr, watcher, 2)
	}
	if err != nil {
		e.t.Fatal(err)
	}
	e.run(mgr)
	expect.Eventually(e.t, timeout, func() error {
		if !watcher.ShouldWrite() {
			return errors.New("the operator has not checked the Lease yet")
		}
		return nil
	})
}

// process returns a reconciler without in-memory state, like that of a new operator process.
func (e *env) process(wrap func(client.Client) client.Client) *superset.Reconciler {
	c := e.manager.GetClient()
	if wrap != nil {
		c = wrap(c)
	}
	e.reports.next = standalone.NewReporter(c, e.reports.watcher, e.reports.bus, contract.Superset, e.clock)
	return superset.New(superset.Config{
		Client: c, APIReader: e.manager.GetAPIReader(), Reporter: e.reports,
		Recorder: e.manager.GetEventRecorder("superset-controller"), Clock: e.clock,
		Namespaces: []string{e.namespace},
	})
}

// reconcileUntil calls Reconcile until the check succeeds or Reconcile returns the given error.
func (e *env) reconcileUntil(sup *v1alpha1.Superset, wantErr error, check func(*v1alpha1.Superset) error) {
	e.t.Helper()
	expect.Eventually(e.t, timeout, func() error {
		_, err := e.reconciler.Reconcile(e.t.Context(), request(sup))
		if err != nil {
			if wantErr != nil && errors.Is(err, wantErr) {
				return nil
			}
			return err
		}
		if err := e.client.Get(e.t.Context(), client.ObjectKeyFromObject(sup), sup); err != nil {
			return err
		}
		return check(sup)
	})
}

// waitIdle waits until reconciles send no more requests.
func (e *env) waitIdle(sup *v1alpha1.Superset) {
	e.t.Helper()
	waitStable(e.t, func() error {
		before := len(e.requests.list())
		if _, err := e.reconciler.Reconcile(e.t.Context(), request(sup)); err != nil {
			return err
		}
		if after := e.requests.list(); len(after) > before {
			return fmt.Errorf("requests %v", after[before:])
		}
		return nil
	})
}

// waitStable waits until a check has succeeded for some time without interruption, since a change reaches the operator
// in several events.
func waitStable(t testing.TB, check func() error) {
	t.Helper()
	const required = 12
	successes := 0
	expect.Eventually(t, timeout, func() error {
		if err := check(); err != nil {
			successes = 0
			return err
		}
		if successes++; successes < required {
			return errors.New("not yet steady for long enough")
		}
		return nil
	})
}

// run starts a manager and stops it before the namespace is deleted.
func (e *env) run(mgr ctrl.Manager) {
	ctx, cancel := context.WithCancel(e.t.Context())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	e.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			e.t.Errorf("the operator returned: %v", err)
		}
	})
	if !mgr.GetCache().WaitForCacheSync(ctx) {
		e.t.Fatal("the cache did not sync")
	}
}

// sample reads a sample into the namespace of the environment.
func (e *env) sample(name string, edit ...func(*v1alpha1.Superset)) *v1alpha1.Superset {
	e.t.Helper()
	raw, err := os.ReadFile(filepath.Join(samples, name))
	if err != nil {
		e.t.Fatal(err)
	}
	sup := &v1alpha1.Superset{}
	if err := yaml.UnmarshalStrict(raw, sup); err != nil {
		e.t.Fatal(err)
	}
	sup.Namespace = e.namespace
	for _, e := range edit {
		e(sup)
	}
	return sup
}

func (e *env) create(sup *v1alpha1.Superset) *v1alpha1.Superset {
	e.t.Helper()
	if err := e.client.Create(e.t.Context(), sup); err != nil {
		e.t.Fatal(err)
	}
	return sup
}

// edit changes the latest version of a Superset as a user.
func (e *env) edit(sup *v1alpha1.Superset, change func(*v1alpha1.Superset)) {
	e.t.Helper()
	expect.Eventually(e.t, timeout, func() error {
		if err := e.client.Get(e.t.Context(), client.ObjectKeyFromObject(sup), sup); err != nil {
			return err
		}
		change(sup)
		return e.client.Update(e.t.Context(), sup)
	})
}

// waitFor waits until the check of the Superset's status succeeds.
func (e *env) waitFor(sup *v1alpha1.Superset, check func(*v1alpha1.Superset) error) {
	e.t.Helper()
	expect.Eventually(e.t, timeout, func() error {
		if err := e.client.Get(e.t.Context(), client.ObjectKeyFromObject(sup), sup); err != nil {
			return err
		}
		return check(sup)
	})
}

func phase(want v1alpha1.Phase) func(*v1alpha1.Superset) error {
	return func(sup *v1alpha1.Superset) error {
		if sup.Status.Phase != want || sup.Status.ObservedGeneration != sup.Generation {
			return fmt.Errorf("phase %q at generation %d of %d: %s", sup.Status.Phase,
				sup.Status.ObservedGeneration, sup.Generation, text(sup))
		}
		return nil
	}
}

// text returns the status in a form for failure messages.
func text(sup *v1alpha1.Superset) string {
	raw, err := json.Marshal(sup.Status)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

// requests records the requests of an operator, without watches and lists of caches.
type requests struct {
	// inFlight is held for reading by each request until its response is recorded. The effect of a request is
	// visible in the cluster before its response arrives, so readers of the counts wait for it.
	inFlight  sync.RWMutex
	mu        sync.Mutex
	completed []string
}

func (r *requests) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		_, path, namespaced := strings.Cut(req.URL.Path, "/namespaces/")
		watching := req.URL.Query().Get("watch") != "" || req.Method == http.MethodGet && req.URL.Query().Has("limit")
		sendInitial := req.URL.Query().Has("sendInitialEvents")
		if !namespaced || watching || sendInitial {
			return next.RoundTrip(req)
		}
		r.inFlight.RLock()
		defer r.inFlight.RUnlock()
		resp, err := next.RoundTrip(req)
		if err == nil {
			r.mu.Lock()
			r.completed = append(r.completed, fmt.Sprintf("%s %s %d", req.Method, path, resp.StatusCode))
			r.mu.Unlock()
		}
		return resp, err
	})
}

func (r *requests) list() []string {
	r.inFlight.Lock()
	defer r.inFlight.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.completed...)
}

// matching counts the requests that match a pattern.
func (r *requests) matching(pattern string) int {
	n, regex := 0, regexp.MustCompile(pattern)
	for _, s := range r.list() {
		if regex.MatchString(s) {
			n++
		}
	}
	return n
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// reports keeps the last observation of each object and forwards all calls.
type reports struct {
	watcher *standalone.LeaseWatcher
	bus     *bus.ObservationPublisher
	next    superset.Reporter
	mu      sync.Mutex
	last    map[string]contract.Observation
}

func (r *reports) Report(ctx context.Context, cr client.Object, o contract.Observation) (time.Duration, error) {
	r.mu.Lock()
	if r.last == nil {
		r.last = map[string]contract.Observation{}
	}
	r.last[o.Object.Name] = o
	r.mu.Unlock()
	return r.next.Report(ctx, cr, o)
}

func (r *reports) Delete(object contract.Object) { r.next.Delete(object) }

func (r *reports) lastOf(name string) contract.Observation {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last[name]
}

func request(sup *v1alpha1.Superset) ctrl.Request {
	return ctrl.Request{NamespacedName: client.ObjectKeyFromObject(sup)}
}

package superset_test

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"sync"
	"testing"

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
	timeout = expect.Long
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	flag.Parse()
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "test.parallel" })
	// These tests wait for controllers most of the time, so more of them run in parallel than there are cores.
	if !chosen {
		if err := flag.Set("test.parallel", "4"); err != nil {
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
	config     *rest.Config
	options    options
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

// newScheme returns the scheme that all tests share.
var newScheme = sync.OnceValues(func() (*runtime.Scheme, error) {
	s := runtime.NewScheme()
	return s, errors.Join(clientscheme.AddToScheme(s), v1alpha1.AddToScheme(s))
})

func scheme(t testing.TB) *runtime.Scheme {
	t.Helper()
	s, err := newScheme()
	if err != nil {
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
	e.config, e.options = cfg, o
	e.operator()
	return e
}

// operator starts an operator process in the namespace of the environment, with its own cache.
func (e *env) operator() {
	e.t.Helper()
	cfg, o := rest.CopyConfig(e.config), e.options
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

func request(sup *v1alpha1.Superset) ctrl.Request {
	return ctrl.Request{NamespacedName: client.ObjectKeyFromObject(sup)}
}

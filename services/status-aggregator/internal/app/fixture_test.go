package app

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/kube/service"
	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/natstest"
	"github.com/flotilla-dev/flotilla/libs/testkit/reconciletest"

	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/registry"
)

const (
	clusterName = "test"
	testSettle  = 500 * time.Millisecond
)

// fixture is a bus, a namespace of a cluster, and the processes that use them.
type fixture struct {
	t          *testing.T
	nats       *natstest.Server
	cluster    *cluster.Cluster
	namespace  string
	watched    []string // namespaces that the aggregators serve; empty means all
	client     client.Client
	conn       *bus.Conn    // connection of the test
	identity   *rest.Config // of the aggregator's account
	running    *running
	clock      clock.WithTicker // clock of the aggregators
	url        string
	urls       map[string]string // addresses of clients that do not connect directly, by name
	params     bus.Params
	interval   time.Duration // interval in the operators' heartbeats
	inactivity time.Duration // of a shard; zero means the default
	log        logr.Logger   // of the aggregators
}

// running is one process of the aggregator.
type running struct {
	conn     *bus.Conn
	bus      *tappedBus
	registry *prometheus.Registry
	requests *requests
	stop     func()
}

// tappedBus lets a test reject publishes of the aggregator.
type tappedBus struct {
	*bus.Conn
	reject atomic.Pointer[func(bus.Message) error]
}

func (b *tappedBus) Publish(ctx context.Context, m bus.Message, opts ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	if reject := b.reject.Load(); reject != nil {
		if err := (*reject)(m); err != nil {
			return nil, err
		}
	}
	return b.Conn.Publish(ctx, m, opts...)
}

// requests counts requests to the API server, except leases and watches, and
// can respond in its place.
type requests struct {
	next    http.RoundTripper
	count   *atomic.Int64
	respond *atomic.Pointer[func(*http.Request) *http.Response]
}

func (r *requests) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Query().Get("watch") == "" && !isLease(req.URL.Path) {
		r.count.Add(1)
	}
	if respond := r.respond.Load(); respond != nil {
		if response := (*respond)(req); response != nil {
			return response, nil
		}
	}
	return r.next.RoundTrip(req)
}

func isLease(path string) bool {
	const prefix = "/apis/coordination.k8s.io/"
	return len(path) > len(prefix) && path[:len(prefix)] == prefix
}

func newFixture(t *testing.T, options ...natstest.Option) *fixture {
	t.Helper()
	server := natstest.Start(t, options...)
	f := newFixtureAt(t, server.URL(), bus.DefaultParams())
	f.nats = server
	return f
}

// newFixtureAt uses servers of the test.
func newFixtureAt(t *testing.T, url string, params bus.Params) *fixture {
	t.Helper()
	f := &fixture{
		t: t, cluster: cluster.Get(t), url: url, params: params,
		clock: clock.RealClock{}, urls: map[string]string{}, interval: 2 * time.Second, log: ctrl.Log,
	}
	f.namespace = f.cluster.Namespace(t)
	f.client = f.cluster.Client(t, clientgoscheme.Scheme)
	f.identity = f.account()
	f.conn = f.connect("test")
	f.bootstrap()
	return f
}

func (f *fixture) connect(name string) *bus.Conn {
	f.t.Helper()
	url := f.url
	if other, ok := f.urls[name]; ok {
		url = other
	}
	conn, err := bus.Connect(bus.Config{URL: url, Name: name})
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() {
		if err := conn.Close(context.Background()); err != nil {
			f.t.Error(err)
		}
	})
	return conn
}

func (f *fixture) bootstrap() {
	f.t.Helper()
	expect.Eventually(f.t, expect.Long, func() error {
		return bus.Bootstrap(f.t.Context(), f.conn.JetStream(), f.params)
	})
}

// start runs an aggregator, which becomes the leader when there is no other one.
func (f *fixture) start() *running {
	f.t.Helper()
	r := &running{conn: f.connect(Name), registry: prometheus.NewRegistry()}
	r.bus = &tappedBus{Conn: r.conn}
	r.requests = &requests{count: &atomic.Int64{}, respond: &atomic.Pointer[func(*http.Request) *http.Response]{}}
	cfg := rest.CopyConfig(f.identity)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return &requests{next: next, count: r.requests.count, respond: r.requests.respond}
	})
	mgr := f.manager(cfg)
	kinds, err := registry.Managed()
	if err != nil {
		f.t.Fatal(err)
	}
	if err := Add(Config{
		Manager: mgr, Bus: r.bus, Kinds: kinds, Cluster: clusterName, Namespaces: f.watched, LeaseNamespace: f.namespace,
		Instance: "aggregator", Clock: f.clock, Registerer: r.registry, Settle: testSettle, Inactivity: f.inactivity, Workers: 4,
		Election: service.DefaultElection,
	}); err != nil {
		f.t.Fatal(err)
	}
	r.stop = f.run(mgr.Start)
	f.running = r
	return r
}

func (f *fixture) manager(cfg *rest.Config) ctrl.Manager {
	f.t.Helper()
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		f.t.Fatal(err)
	}
	log, checkResults := reconciletest.Watch(f.t, f.log)
	f.t.Cleanup(checkResults) // after the manager has ended
	options := ctrl.Options{
		Logger:                        log,
		Scheme:                        scheme,
		Metrics:                       metricsserver.Options{BindAddress: "0"},
		LeaderElection:                true,
		LeaderElectionID:              Name + ".flotilla.dev", // same as in package service
		LeaderElectionNamespace:       f.namespace,
		LeaderElectionReleaseOnCancel: true,
		Cache:                         cache.Options{DefaultNamespaces: map[string]cache.Config{f.namespace: {}}},
		Controller:                    config.Controller{SkipNameValidation: new(true)},
	}
	CacheOptions(&options.Cache)
	mgr, err := ctrl.NewManager(cfg, options)
	if err != nil {
		f.t.Fatal(err)
	}
	return mgr
}

// run starts a function in the background and returns a function that stops it and waits for its end.
func (f *fixture) run(start func(context.Context) error) func() {
	ctx, cancel := context.WithCancel(logr.NewContext(context.Background(), ctrl.Log))
	done := make(chan error, 1)
	go func() { done <- start(ctx) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			f.t.Errorf("ended with: %v", err)
		}
	})
	f.t.Cleanup(stop)
	return stop
}

// lease returns the Lease; nil if it does not exist.
func (f *fixture) lease() *coordinationv1.Lease {
	f.t.Helper()
	l := &coordinationv1.Lease{}
	err := f.client.Get(f.t.Context(), client.ObjectKey{Namespace: f.namespace, Name: conditions.LeaseName}, l)
	if client.IgnoreNotFound(err) != nil {
		f.t.Fatal(err)
	}
	if err != nil {
		return nil
	}
	return l
}

// leading waits until an aggregator holds the Lease and has renewed it after the given time.
func (f *fixture) leading(since time.Time) {
	f.t.Helper()
	expect.Eventually(f.t, expect.Long, func() error {
		if l := f.lease(); l == nil || !l.Spec.RenewTime.After(since) {
			return fmt.Errorf("lease: %+v", l)
		}
		return nil
	})
}

// history reads the lifecycle stream, one line for each event of the namespace.
func (f *fixture) history() []string {
	f.t.Helper()
	var out []string
	ids := map[string]bool{}
	for _, m := range natstest.Messages(f.t, f.conn.JetStream(), contract.StreamLifecycle) {
		e, l, err := contract.Decode[contract.Lifecycle](m.Data)
		if err != nil {
			f.t.Fatal(err)
		}
		if ids[e.ID] {
			f.t.Errorf("event %q is in the stream twice", e.ID)
		}
		ids[e.ID] = true
		out = append(out, describe(l))
	}
	return out
}

func describe(l contract.Lifecycle) string {
	line := l.Object.Name + " " + string(l.Event)
	if l.Phase != nil && l.Phase.To != "" {
		line += " " + l.Phase.To
	}
	if l.Condition != nil {
		line += " " + l.Condition.Type + "=" + l.Condition.After.Status
	}
	if l.Gap {
		line += " gap"
	}
	return line
}

// wantHistory waits until the stream contains exactly these events.
func (f *fixture) wantHistory(want ...string) {
	f.t.Helper()
	expect.Eventually(f.t, expect.Long, func() error {
		got := f.history()
		if fmt.Sprint(got) != fmt.Sprint(want) {
			return fmt.Errorf("history\n got %q\nwant %q", got, want)
		}
		return nil
	})
}

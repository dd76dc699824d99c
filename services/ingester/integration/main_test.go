package integration

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/testr"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/kube/service"
	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
	"github.com/flotilla-dev/flotilla/libs/testkit/mysqltest"
	"github.com/flotilla-dev/flotilla/libs/testkit/natstest"

	"github.com/flotilla-dev/flotilla/libs/testkit/reconciletest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/app"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/database"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard()) // each ingester has its own logger
	os.Exit(cluster.Main(m, cluster.Options{CRDs: []string{"../config/crd"}, Nodes: 1}))
}

// env is the environment of one ingester: a namespace, a database, a bus.
type env struct {
	testing.TB
	plane     *cluster.Cluster
	client    client.Client
	namespace string
	dsn       string
	db        *sql.DB
	nats      *natstest.Server
	conn      *bus.Conn
	log       logr.Logger
	metrics   *prometheus.Registry // of the newest ingester
	// registerer receives the metrics instead, if set.
	registerer prometheus.Registerer
}

func newEnv(t testing.TB) *env {
	t.Helper()
	return newEnvOn(t, mysqltest.DSN(t))
}

func newEnvOn(t testing.TB, dsn string) *env {
	t.Helper()
	return newEnvIn(t, cluster.Get(t), dsn)
}

// newEnvIn returns an env in a cluster of its own.
func newEnvIn(t testing.TB, c *cluster.Cluster, dsn string) *env {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	b := &env{
		TB: t, plane: c, client: c.Client(t, scheme), namespace: c.Namespace(t),
		dsn: dsn, db: dbtest.Open(t, dsn), nats: natstest.Start(t), log: logr.Discard(),
	}
	if tt, ok := t.(*testing.T); ok && testing.Verbose() {
		b.log = testr.New(tt)
	}
	b.conn = b.connect("test")
	if err := bus.Bootstrap(t.Context(), b.conn.JetStream(), bus.DefaultParams()); err != nil {
		t.Fatal(err)
	}
	return b
}

// connect opens a connection to the bus and closes it at the end of the test.
func (b *env) connect(name string) *bus.Conn {
	b.Helper()
	conn, err := bus.Connect(bus.Config{URL: b.nats.URL(), Name: name})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := conn.Close(ctx); err != nil {
			b.Error(err)
		}
	})
	return conn
}

// start runs an ingester until stop is called, or the test ends.
func (b *env) start(change ...func(*app.Options)) (stop func()) {
	b.Helper()
	o := &app.Options{Enabled: true, MySQL: database.Settings{DSN: b.dsn}, ConcurrentReconciles: 256, RequeuePeriod: time.Second}
	for _, c := range change {
		c(o)
	}
	managerLog, checkResults := reconciletest.Watch(b, b.log)
	skip := true
	mgr, err := ctrl.NewManager(asIngester(b, b.plane), ctrl.Options{
		Scheme: b.client.Scheme(), Logger: managerLog,
		Cache:      cache.Options{DefaultNamespaces: map[string]cache.Config{b.namespace: {}}},
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: &skip},
	})
	if err != nil {
		b.Fatal(err)
	}
	b.metrics = prometheus.NewRegistry()
	rt := &service.Runtime{
		Manager: mgr, Log: b.log, Bus: b.connect("ingester"), Clock: clock.RealClock{}, Instance: "test",
		Options: service.Options{ClusterName: "test", WatchNamespaces: []string{b.namespace}},
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(b.Context()))
	var registerer prometheus.Registerer = b.metrics
	if b.registerer != nil {
		registerer = b.registerer
	}
	if err := app.Setup(ctx, rt, o, registerer); err != nil {
		cancel()
		b.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := errors.Join(mgr.Start(ctx), rt.Close(context.WithoutCancel(ctx))); err != nil {
			b.Errorf("the ingester ended: %v", err)
		}
	})
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			wg.Wait()
			checkResults()
		})
	}
	b.Cleanup(stop)
	return stop
}

// changes reads the events of the stream, in its order, as "<kind> <name> <operation> <resource version>".
func (b *env) changes() ([]string, error) {
	stream, err := b.conn.JetStream().Stream(b.Context(), contract.StreamChanges)
	if err != nil {
		return nil, err
	}
	info, err := stream.Info(b.Context())
	if err != nil {
		return nil, err
	}
	var out []string
	for seq := info.State.FirstSeq; seq <= info.State.LastSeq && info.State.Msgs > 0; seq++ {
		msg, err := stream.GetMsg(b.Context(), seq)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		e, change, err := contract.Decode[contract.Change](msg.Data)
		if err != nil {
			return nil, err
		}
		if id := msg.Header.Get(contract.HeaderMsgID); id != e.ID || id != change.Object.UID+"."+e.Sequence {
			return nil, fmt.Errorf("event %q has message id %q", e.ID, id)
		}
		out = append(out, fmt.Sprintf("%s %s %s %s", change.Object.Kind, change.Object.Name, change.Operation, change.Object.ResourceVersion))
	}
	return out, nil
}

// counter sums a counter of the newest ingester over all its labels.
func (b *env) counter(name string) float64 {
	b.Helper()
	families, err := b.metrics.Gather()
	if err != nil {
		b.Fatal(err)
	}
	sum := 0.0
	for _, f := range families {
		if f.GetName() != "flotilla_ingester_"+name {
			continue
		}
		for _, m := range f.GetMetric() {
			sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return sum
}

package mysql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/database"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/incarnation"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/installation"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/metrics"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/query"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/record"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/schema"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/writer"
	"github.com/flotilla-dev/flotilla/services/ingester/migrations"
	"github.com/flotilla-dev/flotilla/services/ingester/storage"
)

// Pool bounds the connections of a store.
type Pool = database.Pool

// Options of a store.
type Options struct {
	// DSN of github.com/go-sql-driver/mysql with a database name.
	DSN string
	// Connector makes the connections instead of the DSN when it is set.
	Connector driver.Connector
	// Pool bounds the connections of a Connector. Queries have eight connections of their own.
	Pool Pool
	// StatementTimeout bounds each statement of a query: the server stops it then, and also a canceled query keeps its
	// connection until its statement ends. Zero means unlimited.
	StatementTimeout time.Duration
	// MaxPageBytes bounds the stored content of a page of List, which then ends before its limit, with a continue token. A
	// page has at least one object. Zero means unlimited.
	MaxPageBytes int
	// Registerer registers the metrics; nil keeps them private. Ignored when Metrics is set.
	Registerer prometheus.Registerer
	// Metrics are those of the service; nil creates new ones.
	Metrics *metrics.Metrics
	Log     logr.Logger
	// Settings names the settings that locate the server, for the log line while it is unreachable.
	Settings string
	// Cluster is the name of the cluster, which Prepare records in the database; empty records and checks none.
	Cluster string
	// Clock is the real clock if nil.
	Clock clock.WithTicker
	// Outbox adds an outbox row to every change. An ingester with a bus must relay and remove them.
	Outbox bool
	// OnCommit is called after each commit that added outbox rows. It must not block.
	OnCommit func()
	// Scheme creates typed objects of its kinds in lists and backfills, and provides the kind of
	// typed objects without TypeMeta. Without it lists hold unstructured objects.
	Scheme *runtime.Scheme
}

// Storage implements storage.IngesterStorage.
type Storage struct {
	options Options
	db      *sql.DB
	pool    Pool // of db
	// reads are the connections of queries, so that slow ones do not delay writes.
	reads *sql.DB
	// probe opens a connection for each probe and keeps none.
	probe   *sql.DB
	kinds   *registry.Registry
	records *record.Builder
	metrics *metrics.Metrics
	// baseContext returns the context of Open, which bounds the lifetime of the writer.
	baseContext func() context.Context

	prepared chan struct{} // closed once the schema is current
	started  chan struct{} // closed once the writer runs

	// direct makes changes that do not come from the cluster. They keep the incarnation of
	// their row, so they do not wait for SetIncarnation, and every replica can make them.
	direct *writer.Writer
	// selective returns the limit of objects of a label that drives a plan; tests vary it.
	selective func() int
	// maxPacket is max_allowed_packet of the server when it was last read, or 0.
	maxPacket atomic.Int64

	mu     sync.Mutex
	writer *writer.Writer
	closed bool
}

var _ storage.IngesterStorage = (*Storage)(nil)

// Open returns a store that is not connected yet. ctx bounds its lifetime. An error
// means that the DSN is invalid; it never contains the password.
func Open(ctx context.Context, options Options) (*Storage, error) {
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
	kinds, err := registry.Load()
	if err != nil {
		return nil, err
	}
	records, err := record.NewBuilder(kinds)
	if err != nil {
		return nil, err
	}
	m := options.Metrics
	if m == nil {
		if m, err = metrics.New(options.Registerer); err != nil {
			return nil, err
		}
	}
	s := &Storage{
		options: options, kinds: kinds, records: records, metrics: m,
		baseContext: func() context.Context { return ctx },
		prepared:    make(chan struct{}), started: make(chan struct{}),
	}
	if err := s.openPools(); err != nil {
		return nil, err
	}
	s.direct = s.newWriter(ctx, 0)
	s.selective = func() int { return query.Selective }
	return s, nil
}

// newWriter returns a writer that lives as long as ctx.
func (s *Storage) newWriter(ctx context.Context, n int64) *writer.Writer {
	return writer.New(ctx, writer.Config{
		DB: s.db, Clock: s.options.Clock, Log: s.options.Log, Metrics: s.metrics,
		Incarnation: n, Outbox: s.options.Outbox, OnCommit: s.options.OnCommit,
	})
}

// DB returns the pool of writes, for the other parts of the service.
func (s *Storage) DB() *sql.DB { return s.db }

// pingEvery is the interval between two attempts to connect.
const pingEvery = 2 * time.Second

// Prepare waits for the server and applies pending migrations. It logs once when a wait
// begins and once when it ends, and returns an error only when ctx ends, or if the database belongs to another cluster.
func (s *Storage) Prepare(ctx context.Context) error {
	waiting := ""
	for {
		err := s.prepareOnce(ctx)
		if err == nil {
			s.options.Log.Info("MySQL is ready")
			close(s.prepared)
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if errors.Is(err, installation.ErrOtherCluster) {
			return err
		}
		s.metrics.Errors.WithLabelValues("prepare", string(database.Classify(err))).Inc()
		if waiting != err.Error() {
			waiting = err.Error()
			s.options.Log.Info("Waiting for MySQL", "reason", waiting, "settings", s.options.Settings)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.options.Clock.After(pingEvery):
		}
	}
}

func (s *Storage) prepareOnce(ctx context.Context) error {
	if err := database.Ping(ctx, s.db); err != nil {
		return err
	}
	report, err := migrations.UpWith(logr.NewContext(ctx, s.options.Log.V(1)), s.db, func(line string) {
		s.options.Log.Info("Adopting a legacy database", "progress", line)
	})
	if err != nil {
		return err
	}
	if n := len(report.Applied); n > 0 {
		s.options.Log.Info("Applied migrations", "count", n, "last", report.Applied[n-1])
	}
	if n := len(report.Notes); n > 0 {
		s.options.Log.Info("Adopted a legacy database", "notes", n, "see", "ingester migrate status")
	}
	if err := installation.Claim(ctx, s.db, s.options.Cluster); err != nil {
		return err
	}
	problems, err := migrations.Verify(ctx, s.db)
	if err != nil {
		return err
	}
	for _, p := range problems {
		s.options.Log.Info("Schema differs from the registry", "difference", p)
	}
	return nil
}

// ResolveIncarnation resolves the incarnation of a cluster, sets and returns it; see package incarnation. Call it
// after Prepare, when this process begins to lead. version returns the current resource version of the cluster, and is
// called once the rows are read.
func (s *Storage) ResolveIncarnation(ctx context.Context, clusterUID string, version func(context.Context) (int64, error)) (int64, error) {
	n, err := incarnation.Resolve(ctx, s.db, s.kinds, clusterUID, version, s.options.Clock.Now())
	if err != nil {
		return 0, fmt.Errorf("resolve incarnation: %w", err)
	}
	s.SetIncarnation(n) //nolint:contextcheck // the writer lives as long as the store
	return n, nil
}

// SetIncarnation starts the writer with an incarnation. Further calls change nothing.
func (s *Storage) SetIncarnation(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.writer != nil || s.closed {
		return
	}
	s.writer = s.newWriter(s.baseContext(), n)
	s.options.Log.V(1).Info("Resolved incarnation", "incarnation", n)
	close(s.started)
}

// Prepared returns a channel that is closed once the schema is current.
func (s *Storage) Prepared() <-chan struct{} { return s.prepared }

// probeWrite fails on a read-only server and changes no row elsewhere.
const probeWrite = "UPDATE " + schema.IncarnationTable + " SET raised_at = raised_at WHERE cluster_uid = ''"

// Ready checks that the server accepts the login, has all tables and accepts writes, for readiness probes.
func (s *Storage) Ready(ctx context.Context) error {
	select {
	case <-s.prepared:
	default:
		s.metrics.Reachable.Set(0)
		return storage.ErrNotReady
	}
	var tables []string
	for _, t := range schema.Tables(s.kinds) {
		tables = append(tables, t.Name)
	}
	err := database.Probe(ctx, s.probe, probeWrite, tables)
	s.metrics.Reachable.Set(map[bool]float64{true: 1, false: 0}[err == nil])
	return err
}

// Close implements storage.MetadataStorage. Further calls change nothing.
func (s *Storage) Close() error {
	s.mu.Lock()
	s.closed = true
	w := s.writer
	s.mu.Unlock()
	if w != nil {
		w.Close()
	}
	s.direct.Close()
	if err := s.closePools(); err != nil {
		return fmt.Errorf("close MySQL: %w", err)
	}
	return nil
}

package sweep

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/services/ingester/api"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/listing"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/rows"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/writer"
)

// Config holds the settings of a Sweeper.
type Config struct {
	Options
	DB    *sql.DB
	Kinds []*registry.Kind
	// Close closes rows with their stored content and adds the change events; see mysql.Storage.CloseRows.
	Close func(context.Context, *registry.Kind, []rows.Row) ([]writer.Outcome, error)
	// Checkpoint returns an error while the database lacks completed evictions; see package checkpoint.
	Checkpoint func(context.Context) error
	// APIReader reads from the API server, without a cache.
	APIReader client.Reader
	// Namespaces that the ingester watches; none means all.
	Namespaces []string
	Clock      clock.Clock
	// Random returns a number in [0, 1).
	Random func() float64
	// Registerer registers the metrics; nil keeps them private.
	Registerer prometheus.Registerer
	Log        logr.Logger
	// Events receives a Warning event when a sweep is not plausible. Nil disables it.
	Events events.EventRecorder
	// Regarding is the object of these events, in the namespace of the service: the event of a cluster-scoped object
	// would be in the namespace default, where the service may lack permissions.
	Regarding runtime.Object
	// Ready is closed once the schema is current.
	Ready <-chan struct{}
}

// Sweeper closes orphans. The leader runs it; it is a manager.Runnable.
type Sweeper struct {
	cfg        Config
	metrics    *metrics
	candidates candidates
}

// New returns a sweeper. [Sweeper.Start] runs it.
func New(cfg Config) (*Sweeper, error) {
	m, err := newMetrics(cfg.Registerer, cfg.Interval > 0)
	if err != nil {
		return nil, err
	}
	for _, kind := range cfg.Kinds {
		// They begin at 0, so that the first increase is visible.
		m.closed.WithLabelValues(kind.Name)
		for _, r := range []reason{otherCluster, empty, threshold} {
			m.aborted.WithLabelValues(kind.Name, string(r))
		}
	}
	return &Sweeper{cfg: cfg, metrics: m, candidates: newCandidates()}, nil
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (s *Sweeper) NeedLeaderElection() bool { return true }

const (
	// firstDelay is the delay before the first sweep, and before the retry after the cluster was not recognized.
	firstDelay = time.Minute
	// kindTimeout bounds the work on one kind.
	kindTimeout = 5 * time.Minute
)

// Start implements manager.Runnable. It returns when ctx ends.
func (s *Sweeper) Start(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-s.cfg.Ready:
	}
	var background sync.WaitGroup
	defer background.Wait()
	background.Go(func() { s.examineCandidates(ctx) })
	if s.cfg.Interval == 0 {
		s.cfg.Log.Info("Periodic sweeps are disabled: --sweep-interval is 0")
		<-ctx.Done()
		return nil
	}
	delay := min(s.cfg.Interval, firstDelay)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.cfg.Clock.After(s.jittered(delay)):
		}
		delay = s.cfg.Interval
		var aborted *abortError
		if err := s.Sweep(ctx); errors.As(err, &aborted) && aborted.reason == otherCluster {
			delay = min(s.cfg.Interval, firstDelay)
		}
	}
}

// jittered varies a delay by a tenth, so that the ingesters of many clusters do not sweep at once.
func (s *Sweeper) jittered(delay time.Duration) time.Duration {
	return time.Duration(float64(delay) * (0.9 + 0.2*s.cfg.Random()))
}

// Sweep compares all kinds once. The failure of one kind is logged and counted, and
// does not prevent the others; the errors are joined.
func (s *Sweeper) Sweep(ctx context.Context) error {
	start := s.cfg.Clock.Now()
	incarnation, err := s.incarnation(ctx)
	if err != nil {
		err = &abortError{otherCluster, err}
		for _, kind := range s.cfg.Kinds {
			s.metrics.aborted.WithLabelValues(kind.Name, string(otherCluster)).Inc()
		}
		s.cfg.Log.Error(err, "Skipped the sweep: failed to match cluster and database")
		return err
	}
	if err := s.checkpoint(ctx); err != nil {
		s.cfg.Log.Error(err, "Skipped the sweep: the database may lack evictions")
		for _, kind := range s.cfg.Kinds {
			s.metrics.aborted.WithLabelValues(kind.Name, string(behind)).Inc()
		}
		return err
	}
	var errs []error
	for _, kind := range s.cfg.Kinds {
		if err := s.sweep(ctx, kind, incarnation); err != nil && ctx.Err() == nil {
			s.report(kind, err)
			errs = append(errs, err)
		}
	}
	s.metrics.duration.Observe(s.cfg.Clock.Since(start).Seconds())
	if len(errs) == 0 && ctx.Err() == nil {
		s.metrics.success.Set(float64(s.cfg.Clock.Now().Unix()))
	}
	return errors.Join(errs...)
}

func (s *Sweeper) sweep(ctx context.Context, kind *registry.Kind, incarnation int64) error {
	ctx, cancel := context.WithTimeout(ctx, kindTimeout)
	defer cancel()
	missing, result, err := s.scan(ctx, kind, incarnation)
	if err != nil {
		return err
	}
	s.metrics.found.WithLabelValues(kind.Name).Set(0)
	if aborted := checkThresholds(result); aborted != nil {
		s.metrics.found.WithLabelValues(kind.Name).Set(float64(result.missing))
		return aborted
	}
	for len(missing) > 0 {
		part := missing[:min(closeBatchSize, len(missing))]
		missing = missing[len(part):]
		if err := s.closeConfirmed(ctx, kind, part); err != nil {
			return err
		}
	}
	return nil
}

// checkpoint returns an error if rows are not reliable: the database lacks evictions, or the check failed.
func (s *Sweeper) checkpoint(ctx context.Context) error {
	if s.cfg.Checkpoint == nil {
		return nil
	}
	if err := s.cfg.Checkpoint(ctx); err != nil {
		return &abortError{behind, err}
	}
	return nil
}

// scan compares rows and objects, and returns the uids of rows that lack an object.
func (s *Sweeper) scan(ctx context.Context, kind *registry.Kind, incarnation int64) (missing []string, result scanResult, err error) {
	open := map[string]struct{}{}
	err = rows.Each(ctx, s.cfg.DB, kind, rows.Query{State: rows.InCluster, Namespaces: s.cfg.Namespaces}, func(r rows.Row) error {
		open[r.UID] = struct{}{}
		if r.Incarnation == incarnation {
			result.newest = max(result.newest, r.ResVersion)
		}
		return nil
	})
	if err != nil {
		return nil, result, &abortError{unreadable, err}
	}
	if result.rows = len(open); result.rows == 0 {
		return nil, result, nil
	}
	result.version, err = listing.EachMetadata(ctx, s.cfg.APIReader, kind, s.cfg.Namespaces, func(o *metav1.PartialObjectMetadata) error {
		result.objects++
		delete(open, string(o.GetUID()))
		return nil
	})
	switch {
	case err != nil && listing.NotServed(err):
		return nil, result, &abortError{unserved, err}
	case err != nil:
		return nil, result, &abortError{unlisted, err}
	}
	result.missing = len(open)
	return slices.Sorted(maps.Keys(open)), result, nil
}

// report logs that a kind was skipped, and emits a Warning event if a person should investigate.
func (s *Sweeper) report(kind *registry.Kind, err error) {
	log := s.cfg.Log.WithValues("kind", kind.Name)
	var aborted *abortError
	if !errors.As(err, &aborted) {
		log.Error(err, "Failed to sweep orphans")
		return
	}
	s.metrics.aborted.WithLabelValues(kind.Name, string(aborted.reason)).Inc()
	log.Error(err, "Sweep aborted", "reason", aborted.reason)
	if !aborted.needsInvestigation() || s.cfg.Events == nil {
		return
	}
	crd := &metav1.PartialObjectMetadata{}
	crd.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	crd.SetName(kind.Plural + "." + api.Group)
	// The related object separates the kinds: events that differ only in their note are counted as one.
	s.cfg.Events.Eventf(s.cfg.Regarding, crd, "Warning", "SweepAborted", "Sweep", "%s: %v", kind.Name, err)
}

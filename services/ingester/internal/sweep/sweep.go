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
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/services/ingester/api"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/rows"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/writer"
)

// Config holds the settings of a Sweeper.
type Config struct {
	Options
	DB    *sql.DB
	Kinds []*registry.Kind
	// Close closes rows as they are and adds the change events; see mysql.Storage.CloseRows.
	Close func(context.Context, *registry.Kind, []rows.Row) ([]writer.Outcome, error)
	// Checkpoint returns an error while the database lacks evictions that were carried out; see package checkpoint.
	Checkpoint func(context.Context) error
	// Live reads from the API server each time, never from a cache.
	Live client.Reader
	// Namespaces that the ingester works in; none means all.
	Namespaces []string
	Clock      clock.Clock
	// Random returns a number in [0, 1).
	Random func() float64
	// Registerer takes the metrics; nil keeps them private.
	Registerer prometheus.Registerer
	Log        logr.Logger
	// Events receives a Warning event, on the kind's CRD, when a sweep is not plausible. Nil disables it.
	Events events.EventRecorder
	// Ready is closed once the schema is current.
	Ready <-chan struct{}
}

// Sweeper closes orphans. The leader runs it; it is a manager.Runnable.
type Sweeper struct {
	cfg      Config
	figures  *figures
	suspects suspects
}

// New returns a sweeper. [Sweeper.Start] runs it.
func New(cfg Config) (*Sweeper, error) {
	f, err := newFigures(cfg.Registerer)
	if err != nil {
		return nil, err
	}
	for _, kind := range cfg.Kinds {
		f.closed.WithLabelValues(kind.Name) // begins at 0, so that the first increase is visible
	}
	return &Sweeper{cfg: cfg, figures: f, suspects: newSuspects()}, nil
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (s *Sweeper) NeedLeaderElection() bool { return true }

const (
	// soon is the delay before the first sweep, and before one after the cluster was not recognized.
	soon = time.Minute
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
	var hints sync.WaitGroup
	defer hints.Wait()
	hints.Go(func() { s.follow(ctx) })
	if s.cfg.Interval == 0 {
		s.cfg.Log.Info("Not looking for orphans regularly: --sweep-interval is 0")
		<-ctx.Done()
		return nil
	}
	pause := min(s.cfg.Interval, soon)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.cfg.Clock.After(s.jittered(pause)):
		}
		pause = s.cfg.Interval
		var aborted *abort
		if err := s.Sweep(ctx); errors.As(err, &aborted) && aborted.reason == otherCluster {
			pause = min(s.cfg.Interval, soon)
		}
	}
}

// jittered spreads an interval by a tenth, so that the ingesters of many clusters do not sweep at once.
func (s *Sweeper) jittered(pause time.Duration) time.Duration {
	return time.Duration(float64(pause) * (0.9 + 0.2*s.cfg.Random()))
}

// Sweep compares all kinds once. The failure of one kind is logged and counted, and
// does not prevent the others; the errors are joined.
func (s *Sweeper) Sweep(ctx context.Context) error {
	begin := s.cfg.Clock.Now()
	incarnation, err := s.incarnation(ctx)
	if err != nil {
		err = &abort{otherCluster, err}
		for _, kind := range s.cfg.Kinds {
			s.figures.aborted.WithLabelValues(kind.Name, string(otherCluster)).Inc()
		}
		s.cfg.Log.Error(err, "No orphans are closed: the cluster is not known to be that of the storage")
		return err
	}
	if err := s.checkpoint(ctx); err != nil {
		s.cfg.Log.Error(err, "No orphans are closed: the database may be older than what was evicted")
		for _, kind := range s.cfg.Kinds {
			s.figures.aborted.WithLabelValues(kind.Name, string(behind)).Inc()
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
	s.figures.duration.Observe(s.cfg.Clock.Since(begin).Seconds())
	if len(errs) == 0 && ctx.Err() == nil {
		s.figures.success.Set(float64(s.cfg.Clock.Now().Unix()))
	}
	return errors.Join(errs...)
}

func (s *Sweeper) sweep(ctx context.Context, kind *registry.Kind, incarnation int64) error {
	ctx, cancel := context.WithTimeout(ctx, kindTimeout)
	defer cancel()
	lost, seen, err := s.look(ctx, kind, incarnation)
	if err != nil {
		return err
	}
	s.figures.found.WithLabelValues(kind.Name).Set(0)
	if refused := judge(seen); refused != nil {
		s.figures.found.WithLabelValues(kind.Name).Set(float64(seen.lost))
		return refused
	}
	for len(lost) > 0 {
		part := lost[:min(rowsOfAClose, len(lost))]
		lost = lost[len(part):]
		if err := s.end(ctx, kind, part); err != nil {
			return err
		}
	}
	return nil
}

// checkpoint returns an abort if rows are not reliable: the database lacks evictions, or the check failed.
func (s *Sweeper) checkpoint(ctx context.Context) error {
	if s.cfg.Checkpoint == nil {
		return nil
	}
	if err := s.cfg.Checkpoint(ctx); err != nil {
		return &abort{behind, err}
	}
	return nil
}

// look compares rows and objects and returns the uids of rows that lack an object.
func (s *Sweeper) look(ctx context.Context, kind *registry.Kind, incarnation int64) (lost []string, seen sight, err error) {
	open := map[string]struct{}{}
	err = rows.Each(ctx, s.cfg.DB, kind, rows.Query{State: rows.Here, Namespaces: s.cfg.Namespaces}, func(r rows.Row) error {
		open[r.UID] = struct{}{}
		if r.Incarnation == incarnation {
			seen.newest = max(seen.newest, r.ResVersion)
		}
		return nil
	})
	if err != nil {
		return nil, seen, &abort{unreadable, err}
	}
	if seen.rows = len(open); seen.rows == 0 {
		return nil, seen, nil
	}
	seen.version, err = s.list(ctx, kind, func(uid string) {
		seen.objects++
		delete(open, uid)
	})
	switch {
	case err != nil && notServed(err):
		return nil, seen, &abort{unserved, err}
	case err != nil:
		return nil, seen, &abort{unlisted, err}
	}
	seen.lost = len(open)
	return slices.Sorted(maps.Keys(open)), seen, nil
}

// report logs that a kind was skipped, and emits a Warning event if a person should investigate.
func (s *Sweeper) report(kind *registry.Kind, err error) {
	log := s.cfg.Log.WithValues("kind", kind.Name)
	var aborted *abort
	if !errors.As(err, &aborted) {
		log.Error(err, "Looking for orphans failed")
		return
	}
	s.figures.aborted.WithLabelValues(kind.Name, string(aborted.reason)).Inc()
	log.Error(err, "Looking for orphans was broken off", "reason", aborted.reason)
	if !aborted.suspicious() || s.cfg.Events == nil {
		return
	}
	definition := &metav1.PartialObjectMetadata{}
	definition.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	definition.SetName(kind.Plural + "." + api.Group)
	s.cfg.Events.Eventf(definition, nil, "Warning", "SweepAborted", "Sweep", "%s: %v", kind.Name, err)
}

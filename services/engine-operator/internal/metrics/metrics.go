package metrics

import (
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/statusevents"
)

// shared holds the metrics of this process.
var shared = newSet()

// Register registers the metrics; list returns the existing objects at each scrape. A second
// call replaces list and keeps the counts.
func Register(registry prometheus.Registerer, list Lister) error {
	shared.collector.use(list)
	for _, c := range shared.collectors() {
		var registeredErr prometheus.AlreadyRegisteredError
		if err := registry.Register(c); err != nil && !errors.As(err, &registeredErr) {
			return fmt.Errorf("register metrics: %w", err)
		}
	}
	return nil
}

// Engine records what one successful write of an engine's status changed. before and
// after are the engine as it was read and as the API server returned it.
func Engine(before, after *v1alpha1.FireboltEngine, now time.Time) { shared.engine(before, after, now) }

// EngineReconciled records that a reconcile of an engine ended without an error.
func EngineReconciled(engine types.NamespacedName, now time.Time) {
	shared.collector.engines.reconciled(engine, now)
}

// CountThrottled sets the function that returns the number of engines with a rollout that their own spec did not request and
// that waits for others to end.
func CountThrottled(count func() int) { shared.collector.throttled.Store(&count) }

// DeleteEngine drops the state of a deleted engine.
func DeleteEngine(engine types.NamespacedName) {
	shared.collector.engines.forget(engine)
	shared.drainErrors.DeletePartialMatch(prometheus.Labels{labelNamespace: engine.Namespace, labelName: engine.Name})
}

// DrainCheckFailed counts a failed check of a draining generation.
func DrainCheckFailed(engine types.NamespacedName, instance string) {
	shared.drainErrors.WithLabelValues(engine.Namespace, engine.Name, instance).Inc()
}

// EventReadFailed counts a failure to read the Warning events of a StatefulSet.
func EventReadFailed() { shared.unread.Inc() }

// Instance records what one successful write of an instance's status changed.
func Instance(before, after *v1alpha1.FireboltInstance) { shared.instance(before, after) }

// InstanceReconciled records that a reconcile of an instance ended without an error.
func InstanceReconciled(instance types.NamespacedName, now time.Time) {
	shared.collector.instances.reconciled(instance, now)
}

// DeleteInstance drops the state of a deleted instance.
func DeleteInstance(instance types.NamespacedName) { shared.collector.instances.forget(instance) }

// set holds all metrics of the operator.
type set struct {
	collector *collector

	engineMoves, instanceMoves *prometheus.CounterVec

	rollouts       *prometheus.CounterVec
	rolloutSeconds *prometheus.HistogramVec
	abandoned      prometheus.Counter

	drains       *prometheus.CounterVec
	drainSeconds *prometheus.HistogramVec
	drainErrors  *prometheus.CounterVec
	unread       prometheus.Counter
}

const (
	minute = 60
	hour   = 60 * minute
)

func newSet() *set {
	s := &set{
		collector:   newCollector(),
		engineMoves: counters("firebolt_engine_phase_transitions_total", "Changes of the phase of engines.", labelFrom, labelTo),
		rollouts: counters("firebolt_engine_rollouts_total",
			"Rollouts of a generation that ended, by outcome.", labelOutcome),
		rolloutSeconds: histograms("firebolt_engine_rollout_duration_seconds",
			"Duration of rollouts by outcome, from the allocation of the generation to the end."),
		abandoned: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "firebolt_engine_abandoned_generations_total",
			Help: "Generations that were abandoned before they served.",
		}),
		drains: counters("firebolt_engine_drains_total", "Ended drains of old generations by outcome.", labelOutcome),
		drainSeconds: histograms("firebolt_engine_drain_duration_seconds",
			"Duration of drains of old generations by outcome."),
		drainErrors: counters("firebolt_engine_drain_check_errors_total",
			"Failed checks of a draining generation.", labelNamespace, labelName, labelInstance),
		unread: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "firebolt_engine_event_read_errors_total",
			Help: "Failures to read the Warning events of a StatefulSet.",
		}),
		instanceMoves: counters("firebolt_instance_phase_transitions_total", "Changes of the phase of instances.", labelFrom, labelTo),
	}
	for _, outcome := range statusevents.Outcomes() {
		s.rollouts.WithLabelValues(string(outcome))
	}
	for _, outcome := range statusevents.Drains() {
		s.drains.WithLabelValues(string(outcome))
	}
	return s
}

func counters(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

func histograms(name, help string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: name, Help: help,
		Buckets: []float64{1, 5, 15, 30, minute, 2 * minute, 5 * minute, 10 * minute, 30 * minute, hour, 4 * hour, 24 * hour},
	}, []string{labelOutcome})
}

func (s *set) collectors() []prometheus.Collector {
	return []prometheus.Collector{
		s.collector, s.engineMoves, s.rollouts, s.rolloutSeconds, s.abandoned,
		s.drains, s.drainSeconds, s.drainErrors, s.unread, s.instanceMoves,
	}
}

func (s *set) engine(before, after *v1alpha1.FireboltEngine, now time.Time) {
	n := statusevents.Diff(before.Status, after.Status)
	if n.Moved {
		s.engineMoves.WithLabelValues(labelValue(n.From, enginePhases), labelValue(n.To, enginePhases)).Inc()
	}
	if n.Outcome != "" {
		s.rollouts.WithLabelValues(string(n.Outcome)).Inc()
		observe(s.rolloutSeconds, string(n.Outcome), n.Since, now)
		if n.Outcome != statusevents.Completed {
			s.abandoned.Inc()
		}
	}
	if n.Drain != "" {
		s.drains.WithLabelValues(string(n.Drain)).Inc()
		if n.Drain != statusevents.Skipped { // a skipped drain has no duration
			observe(s.drainSeconds, string(n.Drain), n.DrainingSince, now)
		}
	}
}

// observe records a duration unless its start is unknown.
func observe(of *prometheus.HistogramVec, outcome string, since *time.Time, now time.Time) {
	if since != nil {
		of.WithLabelValues(outcome).Observe(max(now.Sub(*since), 0).Seconds())
	}
}

func (s *set) instance(before, after *v1alpha1.FireboltInstance) {
	if was, phase := before.Status.Phase, after.Status.Phase; was != phase {
		s.instanceMoves.WithLabelValues(labelValue(was, instancePhases), labelValue(phase, instancePhases)).Inc()
	}
}

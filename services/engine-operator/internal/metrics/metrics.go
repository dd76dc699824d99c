package metrics

import (
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/report"
)

// shared holds the numbers of this process.
var shared = newSet()

// Register makes the metrics part of a registry. List is asked at each scrape for the
// objects that exist. Registering again replaces list and keeps the numbers.
func Register(registry prometheus.Registerer, list Lister) error {
	shared.now.use(list)
	for _, c := range shared.collectors() {
		var already prometheus.AlreadyRegisteredError
		if err := registry.Register(c); err != nil && !errors.As(err, &already) {
			return fmt.Errorf("register metrics: %w", err)
		}
	}
	return nil
}

// Engine records what one successful write of an engine's status changed. before and
// after are the engine as it was read and as the API server returned it; before may be nil.
func Engine(before, after *v1.FireboltEngine, now time.Time) { shared.engine(before, after, now) }

// EngineReconciled records that a pass over an engine ended without an error.
func EngineReconciled(engine types.NamespacedName, now time.Time) {
	shared.now.engines.reconciled(engine, now)
}

// EngineHeld records whether a rollout that the engine's own spec did not ask for has to
// wait for others to end. A pass that decides says so either way.
func EngineHeld(engine types.NamespacedName, held bool) { shared.now.hold(engine, held) }

// EngineGone forgets an engine that was deleted.
func EngineGone(engine types.NamespacedName) {
	shared.now.engines.forget(engine)
	shared.now.hold(engine, false)
	shared.drainErrors.DeletePartialMatch(prometheus.Labels{labelNamespace: engine.Namespace, labelName: engine.Name})
}

// DrainCheckFailed counts a look at a draining generation that could not be finished.
func DrainCheckFailed(engine types.NamespacedName, instance string) {
	shared.drainErrors.WithLabelValues(engine.Namespace, engine.Name, instance).Inc()
}

// WarningsUnread counts a look for the Warning events of a StatefulSet that failed.
func WarningsUnread() { shared.unread.Inc() }

// Instance records what one successful write of an instance's status changed.
func Instance(before, after *v1.FireboltInstance, _ time.Time) { shared.instance(before, after) }

// InstanceReconciled records that a pass over an instance ended without an error.
func InstanceReconciled(instance types.NamespacedName, now time.Time) {
	shared.now.instances.reconciled(instance, now)
}

// InstanceGone forgets an instance that was deleted.
func InstanceGone(instance types.NamespacedName) { shared.now.instances.forget(instance) }

// set is all metrics of the operator.
type set struct {
	now *now

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
		now:         newNow(),
		engineMoves: counters("firebolt_engine_phase_transitions_total", "Changes of the phase of engines.", labelFrom, labelTo),
		rollouts: counters("firebolt_engine_rollouts_total",
			"Rollouts of a generation that ended, by outcome.", labelOutcome),
		rolloutSeconds: histograms("firebolt_engine_rollout_duration_seconds",
			"How long a rollout took, from the number of its generation to its end, by outcome."),
		abandoned: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "firebolt_engine_abandoned_generations_total",
			Help: "Generations that got a number and were given up before they served.",
		}),
		drains: counters("firebolt_engine_drains_total", "Waits for the queries of an old generation that ended, by outcome.", labelOutcome),
		drainSeconds: histograms("firebolt_engine_drain_duration_seconds",
			"How long an old generation kept running queries after traffic had moved, by outcome."),
		drainErrors: counters("firebolt_engine_drain_check_errors_total",
			"Looks at a draining generation that could not be finished.", labelNamespace, labelName, labelInstance),
		unread: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "firebolt_engine_unread_warnings_total",
			Help: "Looks for the Warning events of a StatefulSet that failed.",
		}),
		instanceMoves: counters("firebolt_instance_phase_transitions_total", "Changes of the phase of instances.", labelFrom, labelTo),
	}
	for _, outcome := range report.Outcomes() {
		s.rollouts.WithLabelValues(string(outcome))
	}
	for _, outcome := range report.Drains() {
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
		s.now, s.engineMoves, s.rollouts, s.rolloutSeconds, s.abandoned,
		s.drains, s.drainSeconds, s.drainErrors, s.unread, s.instanceMoves,
	}
}

func (s *set) engine(before, after *v1.FireboltEngine, now time.Time) {
	if after == nil {
		return
	}
	var was v1.FireboltEngineStatus
	if before != nil {
		was = before.Status
	}
	n := report.Compare(was, after.Status)
	if n.Moved {
		s.engineMoves.WithLabelValues(word(n.From, enginePhases), word(n.To, enginePhases)).Inc()
	}
	if n.Outcome != "" {
		s.rollouts.WithLabelValues(string(n.Outcome)).Inc()
		observe(s.rolloutSeconds, string(n.Outcome), n.Since, now)
		if n.Outcome != report.Completed {
			s.abandoned.Inc()
		}
	}
	if n.Drain != "" {
		s.drains.WithLabelValues(string(n.Drain)).Inc()
		if n.Drain != report.Skipped { // nothing was waited for
			observe(s.drainSeconds, string(n.Drain), n.DrainingSince, now)
		}
	}
}

// observe records how long something took whose beginning is known.
func observe(of *prometheus.HistogramVec, outcome string, since *time.Time, now time.Time) {
	if since != nil {
		of.WithLabelValues(outcome).Observe(max(now.Sub(*since), 0).Seconds())
	}
}

func (s *set) instance(before, after *v1.FireboltInstance) {
	if after == nil {
		return
	}
	var was v1.InstancePhase
	if before != nil {
		was = before.Status.Phase
	}
	if is := after.Status.Phase; was != is {
		s.instanceMoves.WithLabelValues(word(was, instancePhases), word(is, instancePhases)).Inc()
	}
}

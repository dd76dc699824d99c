package metrics

import (
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
)

// shared holds the metrics of this process.
var shared = newSet()

// Register registers the metrics. Each scrape calls list for the existing Supersets. Registering again replaces list
// and keeps the counters.
func Register(registry prometheus.Registerer, list Lister) error {
	shared.instances.setLister(list)
	for _, c := range shared.collectors() {
		var registered prometheus.AlreadyRegisteredError
		if err := registry.Register(c); err != nil && !errors.As(err, &registered) {
			return fmt.Errorf("register metrics: %w", err)
		}
	}
	return nil
}

// Observe records what one successful write of a status changed. Before and after are the lifecycle as it was read and as
// the API server returned it; both may be nil.
func Observe(before, after *v1alpha1.LifecycleStatus, now time.Time) {
	shared.observe(before, after, now)
}

// set holds all metrics of the operator.
type set struct {
	instances *instances

	runs       *prometheus.CounterVec
	runSeconds *prometheus.HistogramVec
	attempts   *prometheus.HistogramVec

	drains          prometheus.Counter
	downtimeSeconds *prometheus.HistogramVec

	approvals       *prometheus.CounterVec
	approvalSeconds prometheus.Histogram
}

const (
	minute = 60
	hour   = 60 * minute
	day    = 24 * hour
)

func newSet() *set {
	s := &set{
		instances: &instances{},
		runs: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "superset_task_runs_total",
			Help: "Total number of ended attempts of lifecycle tasks by result: succeeded, retried, or failed permanently.",
		}, []string{"task", "result"}),
		runSeconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "superset_task_run_duration_seconds",
			Help:    "Duration of the attempts of lifecycle tasks by result.",
			Buckets: []float64{1, 5, 15, 30, minute, 2 * minute, 5 * minute, 10 * minute, 30 * minute, hour, 2 * hour},
		}, []string{"task", "result"}),
		attempts: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "superset_task_attempts",
			Help:    "Number of attempts of lifecycle tasks that succeeded or failed permanently.",
			Buckets: []float64{1, 2, 3, 5, 10},
		}, []string{"task", "result"}),
		drains: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "superset_drains_total",
			Help: "Total number of completed drains: all components were removed before a task.",
		}),
		downtimeSeconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "superset_downtime_seconds",
			Help: "Time without components by part: drain, tasks, start until the web server is ready, and their total. " +
				"Users get the maintenance page, if there is one.",
			Buckets: []float64{1, 5, 10, 30, minute, 2 * minute, 5 * minute, 10 * minute, 30 * minute, hour, 2 * hour},
		}, []string{"part"}),
		approvals: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "superset_approvals_total",
			Help: "Total number of approved image changes by direction.",
		}, []string{"direction"}),
		approvalSeconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "superset_approval_wait_seconds",
			Help:    "Time that image changes waited for their approval.",
			Buckets: []float64{minute, 10 * minute, 30 * minute, hour, 4 * hour, 12 * hour, day, 3 * day, 7 * day},
		}),
	}
	for _, kind := range resolve.TaskKinds() {
		for _, result := range []string{succeeded, retried, failed} {
			s.runs.WithLabelValues(kind.Slug, result)
		}
	}
	for _, name := range []string{drain, tasks, start, total} {
		s.downtimeSeconds.WithLabelValues(name)
	}
	return s
}

func (s *set) collectors() []prometheus.Collector {
	return []prometheus.Collector{
		s.instances, s.runs, s.runSeconds, s.attempts, s.drains, s.downtimeSeconds, s.approvals, s.approvalSeconds,
	}
}

func (s *set) observe(before, after *v1alpha1.LifecycleStatus, now time.Time) {
	n := diff(before, after, now)
	for _, r := range n.runs {
		s.run(r)
	}
	for _, p := range n.downtime {
		s.downtimeSeconds.WithLabelValues(p.name).Observe(p.duration.Seconds())
		if p.name == drain {
			s.drains.Inc()
		}
	}
	if n.approval != nil {
		s.approvals.WithLabelValues(n.approval.direction).Inc()
		s.approvalSeconds.Observe(n.approval.waited.Seconds())
	}
}

func (s *set) run(r run) {
	s.runs.WithLabelValues(r.task, r.result).Inc()
	s.runSeconds.WithLabelValues(r.task, r.result).Observe(r.duration.Seconds())
	if r.result != retried {
		s.attempts.WithLabelValues(r.task, r.result).Observe(float64(r.attempts))
	}
}

package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
)

// Metrics holds the metrics of the aggregator. Their common prefix is flotilla_status_; the
// package comment documents each.
type Metrics struct {
	Observations *prometheus.CounterVec
	DeadLetters  *prometheus.CounterVec
	Events       *prometheus.CounterVec
	Gaps         prometheus.Counter
	Publishes    *prometheus.CounterVec
	Purged       *prometheus.CounterVec
	Conflicts    *prometheus.CounterVec
	Writes       *prometheus.CounterVec
	Lag          *prometheus.GaugeVec
	LeaseHeld    prometheus.Gauge
	Observer     *prometheus.GaugeVec
	LastSeen     *prometheus.GaugeVec

	objects *objects
}

// Option changes which series are exported.
type Option func(*objects)

// PerObject exports all series of every condition of every object: 37 series for each
// object instead of 12.
func PerObject(o *objects) { o.all = true }

// New creates the metrics and registers them.
func New(r prometheus.Registerer, options ...Option) (*Metrics, error) {
	m := &Metrics{
		Observations: counter("observations_total", "Observations read from the bus.", "outcome"),
		DeadLetters:  counter("dead_letters_total", "Messages that could not be processed.", "cause", "parked"),
		Events:       counter("events_published_total", "Lifecycle events accepted by the stream.", "event"),
		Gaps: prometheus.NewCounter(prometheus.CounterOpts{
			Name: prefix + "gaps_total",
			Help: "Lifecycle events that mark missing history.",
		}),
		Publishes: counter("publish_results_total", "Total number of writes to the bus by outcome.", "store", "outcome"),
		Purged:    counter("tombstones_purged_total", "Purges of the observations of deleted objects from the bus.", "outcome"),
		Conflicts: counter("write_conflicts_total", "Total number of write conflicts.", "store"),
		Writes:    counter("condition_writes_total", "Total number of condition writes by outcome.", "outcome"),
		Lag:       gauge("bus_lag_seconds", "Age of the newest message when it was read.", "stream"),
		LeaseHeld: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: prefix + "lease_held",
			Help: "Lease for writing conditions: 1 if this process holds it, 0 if not.",
		}),
		Observer: gauge("observer", "State of an observer, one series for each state.", "observer", "state"),
		LastSeen: gauge("observer_last_seen_timestamp_seconds", "Time of the last heartbeat or observation of an observer.", "observer"),
		objects:  newObjects(),
	}
	for _, store := range []string{StoreBucket, StoreStream, StoreDeadLetters} {
		for _, outcome := range []string{"denied", "failed"} {
			m.Publishes.WithLabelValues(store, outcome) // begins at 0, so that the first increase is visible
		}
	}
	for _, change := range options {
		change(m.objects)
	}
	for _, c := range append([]prometheus.Collector{
		m.Observations, m.DeadLetters, m.Events, m.Gaps, m.Publishes, m.Purged,
		m.Conflicts, m.Writes, m.Lag, m.LeaseHeld, m.Observer, m.LastSeen,
	}, m.objects.collectors()...) {
		if err := r.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// ObserverState sets the one-hot series of one observer.
func (m *Metrics) ObserverState(observer, state string, all ...string) {
	for _, s := range all {
		m.Observer.WithLabelValues(observer, s).Set(boolValue(s == state))
	}
}

const prefix = "flotilla_status_"

// Values of the label store: where the aggregator writes.
const (
	StoreBucket      = "kv"
	StoreStream      = "lifecycle"
	StoreDeadLetters = "dlq"
)

func counter(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + name, Help: help}, labels)
}

func gauge(name, help string, labels ...string) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: prefix + name, Help: help}, labels)
}

func boolValue(set bool) float64 {
	if set {
		return 1
	}
	return 0
}

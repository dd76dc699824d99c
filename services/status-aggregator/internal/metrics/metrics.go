package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
)

// Metrics are the aggregator's own. Their common prefix is flotilla_status_; the
// package comment says what each one means.
type Metrics struct {
	Observations *prometheus.CounterVec
	DeadLetters  *prometheus.CounterVec
	Events       *prometheus.CounterVec
	Gaps         prometheus.Counter
	Publishes    *prometheus.CounterVec
	Swept        *prometheus.CounterVec
	Conflicts    *prometheus.CounterVec
	Writes       *prometheus.CounterVec
	Lag          *prometheus.GaugeVec
	LeaseHeld    prometheus.Gauge
	Observer     *prometheus.GaugeVec
	Heard        *prometheus.GaugeVec

	objects *objects
}

// Option changes what is shown.
type Option func(*objects)

// PerObject shows all that is known of every condition of every object: 37 series for
// each object instead of 12.
func PerObject(o *objects) { o.all = true }

// New makes the metrics and registers them.
func New(r prometheus.Registerer, options ...Option) (*Metrics, error) {
	m := &Metrics{
		Observations: counter("observations_total", "Observations read from the bus.", "outcome"),
		DeadLetters:  counter("dead_letters_total", "Messages that could not be processed.", "cause", "parked"),
		Events:       counter("events_published_total", "Lifecycle events taken by the stream.", "event"),
		Gaps: prometheus.NewCounter(prometheus.CounterOpts{
			Name: prefix + "gaps_total",
			Help: "Lifecycle events that mark missing history.",
		}),
		Publishes: counter("publish_results_total", "What became of each write to the bus.", "store", "outcome"),
		Swept:     counter("swept_subjects_total", "Last words on objects that are gone, removed from the bus.", "outcome"),
		Conflicts: counter("write_conflicts_total", "Writes refused because somebody else wrote first.", "store"),
		Writes:    counter("condition_writes_total", "What became of the conditions of a reconcile.", "outcome"),
		Lag:       gauge("bus_lag_seconds", "Age of the newest message when it was read.", "stream"),
		LeaseHeld: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: prefix + "lease_held",
			Help: "Whether this process holds the right to write conditions.",
		}),
		Observer: gauge("observer", "Verdict on an observer, one series for each verdict.", "observer", "verdict"),
		Heard:    gauge("observer_heard_timestamp_seconds", "Last sign of life of an observer.", "observer"),
		objects:  newObjects(),
	}
	for _, change := range options {
		change(m.objects)
	}
	for _, c := range append([]prometheus.Collector{
		m.Observations, m.DeadLetters, m.Events, m.Gaps, m.Publishes, m.Swept,
		m.Conflicts, m.Writes, m.Lag, m.LeaseHeld, m.Observer, m.Heard,
	}, m.objects.collectors()...) {
		if err := r.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// Verdict sets the one-hot series of one observer.
func (m *Metrics) Verdict(observer, verdict string, all ...string) {
	for _, v := range all {
		m.Observer.WithLabelValues(observer, v).Set(oneHot(v == verdict))
	}
}

const prefix = "flotilla_status_"

func counter(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + name, Help: help}, labels)
}

func gauge(name, help string, labels ...string) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: prefix + name, Help: help}, labels)
}

func oneHot(hot bool) float64 {
	if hot {
		return 1
	}
	return 0
}

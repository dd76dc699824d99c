// Package metrics declares what the aggregator counts.
//
// Labels take their values from closed lists (kinds, condition types, outcomes,
// event names) or from the names of living objects, whose series are dropped
// when the object is gone.
package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

// Metrics are the aggregator's own. Their common prefix is flotilla_status_.
type Metrics struct {
	// Condition is 1 for the status that a condition has and 0 for the two others.
	Condition *prometheus.GaugeVec
	// Observations counts messages read from the bus by outcome: applied, stale, poison, unmanaged.
	Observations *prometheus.CounterVec
	// DeadLetters counts poison messages by cause and by whether they could be parked.
	DeadLetters *prometheus.CounterVec
	// Events counts lifecycle events that the stream took, by event.
	Events *prometheus.CounterVec
	// Gaps counts events that say that others before them are missing.
	Gaps prometheus.Counter
	// Conflicts counts writes that were refused because somebody else wrote first, by store: kv, lifecycle, status.
	Conflicts *prometheus.CounterVec
	// Writes counts what became of the conditions of a reconcile: written, unchanged, refused.
	Writes *prometheus.CounterVec
	// Lag is how many seconds after it was stored the newest message was read, by stream.
	Lag *prometheus.GaugeVec
	// LeaseHeld is 1 while this process may write conditions.
	LeaseHeld prometheus.Gauge
	// Observer is 1 for the verdict on an observer: Deaf, Unsure, Speaking or Silent.
	Observer *prometheus.GaugeVec
}

// New makes the metrics and registers them.
func New(r prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		Condition:    gauge("condition", "Status of a condition of a managed object, one series for each status.", "kind", "namespace", "name", "type", "status"),
		Observations: counter("observations_total", "Observations read from the bus.", "outcome"),
		DeadLetters:  counter("dead_letters_total", "Messages that could not be processed.", "cause", "parked"),
		Events:       counter("events_published_total", "Lifecycle events taken by the stream.", "event"),
		Gaps: prometheus.NewCounter(prometheus.CounterOpts{
			Name: prefix + "gaps_total",
			Help: "Lifecycle events that mark missing history.",
		}),
		Conflicts: counter("write_conflicts_total", "Writes refused because somebody else wrote first.", "store"),
		Writes:    counter("condition_writes_total", "What became of the conditions of a reconcile.", "outcome"),
		Lag:       gauge("bus_lag_seconds", "Age of the newest message when it was read.", "stream"),
		LeaseHeld: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: prefix + "lease_held",
			Help: "Whether this process holds the right to write conditions.",
		}),
		Observer: gauge("observer", "Verdict on an observer, one series for each verdict.", "observer", "verdict"),
	}
	for _, c := range []prometheus.Collector{
		m.Condition, m.Observations, m.DeadLetters, m.Events, m.Gaps,
		m.Conflicts, m.Writes, m.Lag, m.LeaseHeld, m.Observer,
	} {
		if err := r.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// Conditions sets the one-hot series of one object.
func (m *Metrics) Conditions(ref contract.Ref, conditions []contract.Condition) {
	for _, c := range conditions {
		for _, status := range []metav1.ConditionStatus{metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown} {
			m.Condition.WithLabelValues(string(ref.Kind), ref.Namespace, ref.Name, c.Type, string(status)).
				Set(oneHot(c.Status == string(status)))
		}
	}
}

// Forget drops the series of one object.
func (m *Metrics) Forget(ref contract.Ref) {
	m.Condition.DeletePartialMatch(prometheus.Labels{"kind": string(ref.Kind), "namespace": ref.Namespace, "name": ref.Name})
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

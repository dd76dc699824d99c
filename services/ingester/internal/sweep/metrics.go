package sweep

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics holds the metrics of the sweep.
type metrics struct {
	closed   *prometheus.CounterVec // kind
	found    *prometheus.GaugeVec   // kind: orphans of the last sweep that were not closed
	aborted  *prometheus.CounterVec // kind, reason
	dropped  *prometheus.CounterVec // kind: candidates that were not examined
	duration prometheus.Histogram
	success  prometheus.Gauge
}

const namespace = "flotilla_ingester"

// newMetrics registers the metrics, those of sweeps only if they are periodic: an alert would wait for them. A nil
// registerer keeps them private.
func newMetrics(reg prometheus.Registerer, periodic bool) (*metrics, error) {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
	}
	m := &metrics{
		closed: counter("orphans_closed_total", "Total number of rows closed because their object no longer exists.", "kind"),
		found: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Namespace: namespace, Name: "orphans", Help: "Number of rows without an object that the last sweep did not close, in a dry run or after an abort.",
		}, []string{"kind"}),
		aborted: counter("sweep_aborted_total", "Total number of aborted sweeps of a kind.", "kind", "reason"),
		dropped: counter("suspects_dropped_total", "Total number of deleted objects whose rows were left to the next sweep.", "kind"),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Namespace: namespace, Name: "sweep_duration_seconds", Help: "Duration of a sweep of all kinds.",
			Buckets: prometheus.ExponentialBuckets(0.05, 4, 8),
		}),
		success: prometheus.NewGauge(prometheus.GaugeOpts{
			Namespace: namespace, Name: "sweep_last_success_timestamp_seconds", Help: "Time of the last sweep without a failure, in seconds since the epoch.",
		}),
	}
	if reg == nil {
		return m, nil
	}
	var errs []error
	collectors := []prometheus.Collector{m.closed, m.found, m.aborted, m.dropped}
	if periodic {
		collectors = append(collectors, m.duration, m.success)
	}
	for _, c := range collectors {
		errs = append(errs, reg.Register(c))
	}
	return m, errors.Join(errs...)
}

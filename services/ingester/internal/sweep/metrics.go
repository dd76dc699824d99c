package sweep

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

// figures holds the metrics of the sweep.
type figures struct {
	closed   *prometheus.CounterVec // kind
	found    *prometheus.GaugeVec   // kind: orphans of the last sweep that were not closed
	aborted  *prometheus.CounterVec // kind, reason
	dropped  *prometheus.CounterVec // kind: candidates that were not examined
	duration prometheus.Histogram
	success  prometheus.Gauge
}

const namespace = "flotilla_ingester"

// newFigures registers the metrics; a nil registerer keeps them private.
func newFigures(reg prometheus.Registerer) (*figures, error) {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
	}
	f := &figures{
		closed: counter("orphans_closed_total", "Rows closed whose object was gone.", "kind"),
		found: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Namespace: namespace, Name: "orphans", Help: "Rows without an object that the last sweep left open, in a dry run or since it aborted.",
		}, []string{"kind"}),
		aborted: counter("sweep_aborted_total", "Sweeps of a kind that closed nothing.", "kind", "reason"),
		dropped: counter("suspects_dropped_total", "Objects seen to go whose rows were left to the next sweep.", "kind"),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Namespace: namespace, Name: "sweep_duration_seconds", Help: "Duration of a sweep of all kinds.",
			Buckets: prometheus.ExponentialBuckets(0.05, 4, 8),
		}),
		success: prometheus.NewGauge(prometheus.GaugeOpts{
			Namespace: namespace, Name: "sweep_last_success_timestamp_seconds", Help: "When a sweep last went through all kinds.",
		}),
	}
	if reg == nil {
		return f, nil
	}
	var errs []error
	for _, c := range []prometheus.Collector{f.closed, f.found, f.aborted, f.dropped, f.duration, f.success} {
		errs = append(errs, reg.Register(c))
	}
	return f, errors.Join(errs...)
}

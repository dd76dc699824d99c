package httpapi

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

type apiMetrics struct {
	requests *prometheus.CounterVec   // route, method, code
	duration *prometheus.HistogramVec // route, method
	inFlight prometheus.Gauge
}

// newMetrics creates the metrics. Routes are patterns, so their number is fixed.
func newMetrics(reg prometheus.Registerer) (*apiMetrics, error) {
	const namespace, subsystem = "flotilla_ingester", "api"
	m := &apiMetrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "requests_total", Help: "Requests to the HTTP API.",
		}, []string{"route", "method", "code"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "request_duration_seconds", Help: "Time for one request to the HTTP API.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 16),
		}, []string{"route", "method"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "requests_in_flight", Help: "Requests to the HTTP API that are being answered.",
		}),
	}
	if reg == nil {
		return m, nil
	}
	return m, errors.Join(reg.Register(m.requests), reg.Register(m.duration), reg.Register(m.inFlight))
}

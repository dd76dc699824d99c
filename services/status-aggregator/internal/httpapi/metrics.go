package httpapi

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

type apiMetrics struct {
	requests *prometheus.CounterVec   // route, method, code
	duration *prometheus.HistogramVec // route, method; streams left out
	streams  prometheus.Gauge
	ended    *prometheus.CounterVec // cause
	events   prometheus.Counter
}

// newMetrics creates the metrics. Routes are patterns, so their number is fixed.
func newMetrics(reg prometheus.Registerer) (*apiMetrics, error) {
	const namespace, subsystem = "flotilla_status", "api"
	m := &apiMetrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "requests_total", Help: "Requests to the HTTP API.",
		}, []string{"route", "method", "code"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "request_duration_seconds", Help: "Time for one request to the HTTP API, streams left out.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 16),
		}, []string{"route", "method"}),
		streams: prometheus.NewGauge(prometheus.GaugeOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "streams", Help: "Streams of events that are being served.",
		}),
		ended: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "streams_ended_total", Help: "Streams of events that ended, by cause: client, slow, bus, rights, shutdown.",
		}, []string{"cause"}),
		events: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "stream_events_total", Help: "Events that were sent on streams.",
		}),
	}
	if reg == nil {
		return m, nil
	}
	return m, errors.Join(reg.Register(m.requests), reg.Register(m.duration), reg.Register(m.streams), reg.Register(m.ended), reg.Register(m.events))
}

package httpapi

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

type apiMetrics struct {
	streams prometheus.Gauge
	ended   *prometheus.CounterVec // cause
	events  prometheus.Counter
}

// metricsNamespace is the namespace of all metrics of the aggregator.
const metricsNamespace = "flotilla_status"

// newMetrics creates the metrics of streams.
func newMetrics(reg prometheus.Registerer) (*apiMetrics, error) {
	const namespace, subsystem = metricsNamespace, "api"
	m := &apiMetrics{
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
	return m, errors.Join(reg.Register(m.streams), reg.Register(m.ended), reg.Register(m.events))
}

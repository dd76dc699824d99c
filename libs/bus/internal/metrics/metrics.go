// Package metrics holds the metrics of a connection to the bus.
package metrics

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics are the metrics of one process.
type Metrics struct {
	Connected  prometheus.Gauge
	Reconnects prometheus.Counter
	Denied     prometheus.Counter
	Published  *prometheus.CounterVec
	Outbox     prometheus.Gauge
	Coalesced  prometheus.Counter
	Resets     prometheus.Counter
}

// New returns the metrics, registered unless reg is nil.
func New(reg prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		Connected: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "flotilla_bus_connected", Help: "Connection to NATS: 1 if connected, 0 if not.",
		}),
		Reconnects: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "flotilla_bus_reconnects_total", Help: "Total number of reconnects to NATS.",
		}),
		Denied: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "flotilla_bus_permission_violations_total", Help: "Total number of publishes and subscriptions that the server denied.",
		}),
		Published: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "flotilla_bus_published_total", Help: "Total number of publish attempts by outcome.",
		}, []string{"outcome"}),
		Outbox: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "flotilla_bus_outbox_depth", Help: "Number of subjects with an unacknowledged message.",
		}),
		Coalesced: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "flotilla_bus_coalesced_total", Help: "Total number of messages replaced by a newer one before they were acknowledged.",
		}),
		Resets: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "flotilla_bus_stream_resets_total", Help: "Total number of stream resets.",
		}),
	}
	if reg == nil {
		return m, nil
	}
	return m, errors.Join(
		register(reg, &m.Connected), register(reg, &m.Reconnects), register(reg, &m.Denied), register(reg, &m.Published),
		register(reg, &m.Outbox), register(reg, &m.Coalesced), register(reg, &m.Resets),
	)
}

// register adds a collector, or reuses the one that an earlier connection of the same process added.
func register[C prometheus.Collector](reg prometheus.Registerer, c *C) error {
	err := reg.Register(*c)
	var already prometheus.AlreadyRegisteredError
	if !errors.As(err, &already) {
		return err
	}
	existing, ok := already.ExistingCollector.(C)
	if !ok {
		return err
	}
	*c = existing
	return nil
}

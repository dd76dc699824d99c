package bus

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	connected  prometheus.Gauge
	reconnects prometheus.Counter
	denied     prometheus.Counter
	published  *prometheus.CounterVec
	outbox     prometheus.Gauge
	coalesced  prometheus.Counter
	resets     prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		connected: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "flotilla_bus_connected", Help: "Whether the client is connected to NATS (1) or not (0).",
		}),
		reconnects: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "flotilla_bus_reconnects_total", Help: "Total number of reconnects to NATS.",
		}),
		denied: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "flotilla_bus_permission_violations_total", Help: "Total number of publishes and subscriptions that the server denied.",
		}),
		published: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "flotilla_bus_published_total", Help: "Total number of publish attempts by outcome.",
		}, []string{"outcome"}),
		outbox: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "flotilla_bus_outbox_depth", Help: "Number of subjects with an unacknowledged message.",
		}),
		coalesced: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "flotilla_bus_coalesced_total", Help: "Total number of messages replaced by a newer one before they were acknowledged.",
		}),
		resets: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "flotilla_bus_stream_resets_total", Help: "Total number of stream resets.",
		}),
	}
	if reg == nil {
		return m, nil
	}
	return m, errors.Join(
		register(reg, &m.connected), register(reg, &m.reconnects), register(reg, &m.denied), register(reg, &m.published),
		register(reg, &m.outbox), register(reg, &m.coalesced), register(reg, &m.resets),
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

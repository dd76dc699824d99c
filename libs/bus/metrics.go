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
			Name: "flotilla_bus_connected", Help: "1 while a server of the bus is connected.",
		}),
		reconnects: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "flotilla_bus_reconnects_total", Help: "How often the bus was reached again after it was lost.",
		}),
		denied: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "flotilla_bus_permission_violations_total", Help: "Publishes and subscriptions that the server refused.",
		}),
		published: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "flotilla_bus_published_total", Help: "Attempts to publish a message, by outcome.",
		}, []string{"outcome"}),
		outbox: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "flotilla_bus_outbox_depth", Help: "Subjects with a message that no stream has acknowledged yet.",
		}),
		coalesced: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "flotilla_bus_coalesced_total", Help: "Messages replaced by a newer one before they were acknowledged.",
		}),
		resets: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "flotilla_bus_stream_resets_total", Help: "How often a stream was found re-created or set back.",
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

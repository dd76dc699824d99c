package httpapi

import (
	"github.com/prometheus/client_golang/prometheus"
)

// metricsNamespace is that of all metrics of the ingester.
const metricsNamespace = "flotilla_ingester"

// newInFlight counts the requests that are being answered.
func newInFlight(reg prometheus.Registerer) (prometheus.Gauge, error) {
	g := prometheus.NewGauge(prometheus.GaugeOpts{
		Namespace: metricsNamespace, Subsystem: "api", Name: "requests_in_flight", Help: "Requests to the HTTP API that are being answered.",
	})
	if reg == nil {
		return g, nil
	}
	return g, reg.Register(g)
}

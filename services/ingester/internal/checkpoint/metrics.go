package checkpoint

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics holds the metrics of the checkpoint.
type metrics struct {
	behind      prometheus.Gauge
	unprotected prometheus.Gauge
}

// newMetrics registers the metrics; a nil registerer keeps them private.
func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "flotilla_ingester", Name: name, Help: help})
	}
	m := &metrics{
		behind:      gauge("database_behind", "1 while the database lacks completed evictions, since it was restored from an older backup."),
		unprotected: gauge("checkpoint_unprotected", "1 while an older database cannot be detected, since the permission for the ConfigMap is missing."),
	}
	if reg == nil {
		return m, nil
	}
	return m, errors.Join(reg.Register(m.behind), reg.Register(m.unprotected))
}

package checkpoint

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

type figures struct {
	behind      prometheus.Gauge
	unprotected prometheus.Gauge
}

// newFigures registers the metrics; a nil registerer keeps them private.
func newFigures(reg prometheus.Registerer) (*figures, error) {
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "flotilla_ingester", Name: name, Help: help})
	}
	f := &figures{
		behind:      gauge("database_behind", "1 while the database lacks evictions that were carried out: it was restored from an older backup."),
		unprotected: gauge("checkpoint_unprotected", "1 while an older database cannot be detected, since the permission to the ConfigMap is missing."),
	}
	if reg == nil {
		return f, nil
	}
	return f, errors.Join(reg.Register(f.behind), reg.Register(f.unprotected))
}

package platform

import (
	"maps"
	"slices"
)

// Labels of the pods in the namespace Data.
var (
	MySQL = map[string]string{"app": "mysql"}
	NATS  = map[string]string{"app": "nats"}
)

// ServiceLeases maps each service to its Leases. A pod of the service must hold each of them.
var ServiceLeases = map[string][]string{
	"superset-operator": {"superset-operator.flotilla.dev"},
	"engine-operator":   {"engine-operator.flotilla.dev"},
	"ingester":          {"ingester.flotilla.dev"},
	"status-aggregator": {"status-aggregator.flotilla.dev", "flotilla-conditions"},
}

// AllServices returns the directories of all services, sorted.
func AllServices() []string { return slices.Sorted(maps.Keys(ServiceLeases)) }

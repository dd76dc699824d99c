package aggregator

import (
	"context"
	"errors"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/flotilla-dev/flotilla/libs/kube/service"

	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/registry"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/watch"
)

// Name is the service's name: its binary, its observer on the bus, its client on NATS.
const Name = "status-aggregator"

// Spec declares the service.
func Spec() service.Spec {
	return service.Spec{Name: Name, Validate: Validate, Setup: Setup, CacheOptions: CacheOptions}
}

// CacheOptions keeps of each object only what the aggregator reads.
func CacheOptions(o *cache.Options) { o.DefaultTransform = watch.Trim }

// Validate refuses settings under which the aggregator has nothing to do.
func Validate(o service.Options) error {
	if o.NATSURL == "" {
		return errors.New("--nats-url (FLOTILLA_NATS_URL, NATS_URL) is required: without a bus there is nothing to aggregate")
	}
	return nil
}

// Setup adds the aggregator to the service's manager.
func Setup(_ context.Context, rt *service.Runtime) error {
	kinds, err := registry.Managed()
	if err != nil {
		return err
	}
	return Add(Config{
		Manager: rt.Manager, Bus: rt.Bus, Kinds: kinds, Cluster: rt.Options.ClusterName,
		LeaseNamespace: rt.Options.ConditionsLeaseNamespace, Instance: rt.Instance,
		Clock: rt.Clock, Registerer: metrics.Registry, Settle: Settle, Workers: max(rt.Options.Workers, workers),
	})
}

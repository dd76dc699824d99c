package app

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/flotilla-dev/flotilla/libs/kube/service"

	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/httpapi"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/observe"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/registry"
)

// Name is the name of the binary, of the observer on the bus and of the NATS client.
const Name = "status-aggregator"

// Spec returns the description of the service.
func Spec() service.Spec {
	api, perObject := &httpapi.Options{}, false
	return service.Spec{
		Name: Name,
		Flags: func(fs *pflag.FlagSet) {
			api.AddFlags(fs)
			fs.BoolVar(&perObject, "metrics-per-object", false, "serve every condition of every object as metrics: 37 series for each instead of 12")
		},
		Validate: func(o service.Options) error {
			return errors.Join(Validate(o), api.Validate())
		},
		Setup: func(_ context.Context, rt *service.Runtime) error {
			return setup(rt, *api, perObject)
		},
		CacheOptions:  CacheOptions,
		Prerequisites: prerequisites,
		Election:      election,
	}
}

// prerequisites returns the prerequisites: the permission to watch CRDs, and to watch the managed
// kinds once their CRDs exist.
func prerequisites() []service.Prerequisite {
	definitions := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	out := []service.Prerequisite{{GroupVersionResource: definitions, ClusterWide: true}}
	kinds, err := registry.Managed()
	if err != nil {
		return out // setup returns the error
	}
	for _, kind := range kinds.Kinds() {
		resource := kind.GVK.GroupVersion().WithResource(kind.Resource)
		out = append(out, service.Prerequisite{GroupVersionResource: resource, Optional: true})
	}
	return out
}

// election is faster than the default: conditions do not change without a leader.
// An unnecessary failover is cheap, since the next leader continues from the bucket.
var election = service.Election{LeaseDuration: 7 * time.Second, RenewDeadline: 5 * time.Second, RetryPeriod: time.Second}

// CacheOptions reduces cached objects to the fields that the aggregator reads.
func CacheOptions(o *cache.Options) { o.DefaultTransform = observe.Trim }

// Validate rejects options without which the aggregator cannot work.
func Validate(o service.Options) error {
	if o.NATSURL == "" {
		return errors.New("--nats-url (FLOTILLA_NATS_URL, NATS_URL) is required: without a bus there is nothing to aggregate")
	}
	if o.WatchNamespaceSelector != "" {
		return errors.New("--watch-namespace-selector is not supported by the status aggregator, which serves the operators of all namespaces")
	}
	return nil
}

// setup adds the aggregator, and the HTTP API if it is enabled, to the service's manager.
func setup(rt *service.Runtime, api httpapi.Options, perObject bool) error {
	kinds, err := registry.Managed()
	if err != nil {
		return err
	}
	if err := Add(newConfig(rt, kinds, perObject)); err != nil {
		return err
	}
	_, err = Serve(ServeConfig{
		Manager: rt.Manager, Bus: rt.Bus, Kinds: kinds, Cluster: rt.Options.ClusterName, Options: api,
		Clock: rt.Clock, Registerer: metrics.Registry, Log: rt.Log,
	})
	return err
}

func newConfig(rt *service.Runtime, kinds registry.Set, perObject bool) Config {
	return Config{
		Manager: rt.Manager, Bus: rt.Bus, Kinds: kinds, Cluster: rt.Options.ClusterName, Namespaces: rt.Options.WatchNamespaces,
		LeaseNamespace: rt.Options.ConditionsLeaseNamespace, Instance: rt.Instance,
		Clock: rt.Clock, Registerer: metrics.Registry, Settle: Settle, Workers: rt.Options.Workers,
		Election: rt.Options.Election, PerObject: perObject,
	}
}

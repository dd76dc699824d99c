package status

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/test/stack/benchenv"
)

// observer publishes observations in place of the Superset operator, with its bus client.
type observer struct {
	conn         *bus.Conn
	observations *bus.ObservationPublisher
	registry     *prometheus.Registry
	objects      []contract.Object
	round        int
	end          func()
}

// observe starts an observer of all existing Supersets.
func observe(ctx context.Context, e *benchenv.Env, url string) (*observer, error) {
	objects, err := identities(ctx, e)
	if err != nil {
		return nil, err
	}
	o := &observer{registry: prometheus.NewRegistry(), objects: objects}
	if o.conn, err = bus.Connect(bus.Config{URL: url, Name: e.Operator.Name, Registerer: o.registry}); err != nil {
		return nil, err
	}
	publisher := bus.NewPublisher(o.conn)
	me := contract.Observer{Name: e.Operator.Name, Instance: "bench"}
	o.observations = bus.NewObservationPublisher(publisher, benchenv.ClusterName, me, time.Now().UnixMilli)
	heartbeats := bus.NewHeartbeatPublisher(o.conn, benchenv.ClusterName, me, o.observations.Epoch)
	ctx, cancel := context.WithCancelCause(ctx)
	for _, run := range []func(context.Context) error{publisher.Run, heartbeats.Run} {
		go func() {
			if err := run(ctx); err != nil {
				cancel(err)
			}
		}()
	}
	o.end = func() { cancel(nil) }
	return o, nil
}

func identities(ctx context.Context, e *benchenv.Env) ([]contract.Object, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(supersetGroup.WithKind("SupersetList"))
	if err := e.Client.List(ctx, list, client.InNamespace(benchenv.Namespace)); err != nil {
		return nil, fmt.Errorf("list Supersets: %w", err)
	}
	var out []contract.Object
	for _, item := range list.Items {
		out = append(out, contract.Object{
			GroupVersionKind: contract.GroupVersionKind{Group: supersetGroup.Group, Version: supersetGroup.Version, Kind: "Superset"},
			Namespace:        item.GetNamespace(), Name: item.GetName(), UID: string(item.GetUID()), Generation: item.GetGeneration(),
		})
	}
	return out, nil
}

// publishAll offers the observation of a healthy state for every object. It does not wait until the bus has them.
func (o *observer) publishAll() {
	for _, object := range o.objects {
		o.observations.Publish(contract.Superset, observation(object, 2))
	}
}

// change offers a changed observation for each of the first n objects, and waits until the bus has acknowledged them.
func (o *observer) change(ctx context.Context, n int) error {
	o.round++
	for _, object := range o.objects[:n] {
		o.observations.Publish(contract.Superset, observation(object, int32(1+o.round%2)))
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		left, err := o.outbox()
		if err != nil || left == 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// outbox returns the number of messages that the bus has not acknowledged.
func (o *observer) outbox() (float64, error) {
	families, err := o.registry.Gather()
	if err != nil {
		return 0, fmt.Errorf("gather metrics: %w", err)
	}
	for _, family := range families {
		if family.GetName() == "flotilla_bus_outbox_depth" {
			return family.GetMetric()[0].GetGauge().GetValue(), nil
		}
	}
	return 0, errors.New("metric flotilla_bus_outbox_depth not found")
}

// observation returns an observation of an object with one unit of two pods.
func observation(object contract.Object, available int32) contract.Observation {
	return contract.Observation{
		Object: object, ObservedGeneration: object.Generation, ValidForSeconds: 30, Phase: "Running",
		Reconcile: contract.Reconcile{Outcome: contract.Succeeded},
		Units: []contract.Unit{{
			Name: "webServer", Kind: "Deployment", Role: contract.Serving, Routed: true, Present: true, Observed: true,
			Desired: 2, Current: 2, Updated: 2, Ready: available, Available: available,
		}},
	}
}

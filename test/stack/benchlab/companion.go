package benchlab

import (
	"context"
	"net/url"
	"time"

	"github.com/flotilla-dev/flotilla/libs/testkit/freeport"
	"github.com/flotilla-dev/flotilla/test/stack/platform"
)

// Companion is the status aggregator of a late scenario, which starts and stops it by itself.
type Companion struct {
	lab        *Lab
	kubeconfig string
	metrics    string // URL
}

// Companion prepares the aggregator of a scenario that is Late and has an Aggregator; nothing runs yet.
func (l *Lab) Companion(ctx context.Context) (*Companion, error) {
	kubeconfig, err := l.identity(ctx, aggregator)
	return &Companion{lab: l, kubeconfig: kubeconfig}, err
}

// Start starts it on the bus at a URL, again after Stop, and returns the moment of its start. It may write once
// [Companion.Writes] returns.
func (c *Companion) Start(bus string) (time.Time, error) {
	port, err := freeport.One()
	if err != nil {
		return time.Time{}, err
	}
	c.metrics = "http://" + freeport.Address(port) + "/metrics"
	begin := time.Now()
	c.lab.aggregator, err = c.lab.launchService(aggregator, c.kubeconfig, port, BusFlags(bus))
	return begin, err
}

// Writes waits until it holds the Lease.
func (c *Companion) Writes(ctx context.Context) error {
	return c.lab.leaseHeld(ctx, "flotilla-conditions")
}

// Stop ends it in good order.
func (c *Companion) Stop(ctx context.Context) error {
	running := c.lab.aggregator
	running.dismissed.Store(true)
	c.lab.aggregator = nil
	return running.stop(ctx)
}

// Metric sums a metric of the aggregator over all its labels. It asks for this one only: with thousands of resources the
// whole page has many megabytes.
func (c *Companion) Metric(ctx context.Context, name string) (float64, error) {
	page := platform.Platform{Env: map[string]string{"STATUS_AGGREGATOR_METRICS": c.metrics + "?name[]=" + url.QueryEscape(name)}}
	return page.Metric(ctx, aggregator.Name, name)
}

// BusFlags tell a service where its bus is.
func BusFlags(bus string) []string {
	return []string{"--nats-url=" + bus, "--cluster-name=" + ClusterName, "--bus-bootstrap"}
}

// ClusterName is the name of the lab's cluster on the bus.
const ClusterName = "bench"

// Plain prints the same subject's figures without the word on the aggregator, for a bench that is about the aggregator.
func (f *Figures) Plain() *Figures { return &Figures{subject: f.subject, each: f.each} }

// Operator is the name of the service that is measured, and of its observer on the bus.
func (l *Lab) Operator() string { return l.bench.Operator.Name }

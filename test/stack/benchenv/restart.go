package benchenv

import (
	"context"
	"fmt"
	"time"

	"github.com/flotilla-dev/flotilla/libs/testkit/await"
	"github.com/flotilla-dev/flotilla/test/stack/audit"
)

// Restart measures a restart of the operator with n objects that require no change. The time ends with the n-th reconcile.
func (e *Env) Restart(ctx context.Context, n int) (*Cost, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if err := e.Operator.Stop(ctx); err != nil {
		return nil, err
	}
	_, mark, err := e.audit.Since(0)
	if err != nil {
		return nil, err
	}
	before, err := e.controlPlane()
	if err != nil {
		return nil, err
	}
	start, err := e.Operator.Start()
	if err != nil {
		return nil, err
	}
	err = await.Nil(ctx, timeout, pollInterval, func(ctx context.Context) error {
		done, err := e.Operator.Metric(ctx, "controller_runtime_reconcile_total")
		if err == nil && done < float64(n) {
			return fmt.Errorf("%.0f of %d reconciles", done, n)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	c := &Cost{Objects: n, Seconds: time.Since(start).Seconds()}
	if err := e.WaitSettled(ctx); err != nil {
		return nil, err
	}
	after, err := e.counters(ctx)
	if err != nil {
		return nil, err
	}
	c.Counters = after.minus(before)
	log, _, err := e.audit.Since(mark)
	if err != nil {
		return nil, err
	}
	c.Requests, err = audit.Count(log, e.Operator.user())
	return c, err
}

// ScaleNodes adds nodes for this number of pods.
func (e *Env) ScaleNodes(ctx context.Context, pods int) error {
	const podsPerNode = 100 // the kubelet's default is 110
	return e.cluster.ScaleNodes(ctx, nodes+pods/podsPerNode)
}

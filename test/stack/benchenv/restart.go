package benchenv

import (
	"context"
	"fmt"
	"time"

	"github.com/flotilla-dev/flotilla/libs/testkit/await"
)

// Restart measures a restart of the operator with n objects that require no change. The time ends with the n-th reconcile.
func (e *Env) Restart(ctx context.Context, n int) (*Cost, error) {
	if err := e.Operator.Stop(ctx); err != nil {
		return nil, err
	}
	var elapsed time.Duration
	c, err := e.measure(ctx, func(ctx context.Context) error {
		start, err := e.Operator.Start()
		if err != nil {
			return err
		}
		if err := await.Nil(ctx, timeout, pollInterval, func(ctx context.Context) error {
			done, err := e.Operator.Metric(ctx, "controller_runtime_reconcile_total")
			if err == nil && done < float64(n) {
				return fmt.Errorf("%.0f of %d reconciles", done, n)
			}
			return err
		}); err != nil {
			return err
		}
		elapsed = time.Since(start)
		return e.WaitSettled(ctx)
	})
	if err != nil {
		return nil, err
	}
	c.Objects, c.Seconds = n, elapsed.Seconds()
	return c, nil
}

// ScaleNodes adds nodes for this number of pods.
func (e *Env) ScaleNodes(ctx context.Context, pods int) error {
	const podsPerNode = 100 // the kubelet's default is 110
	return e.cluster.ScaleNodes(ctx, nodes+pods/podsPerNode)
}

package controlplane

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// probe is an unused account that kube-controller-manager creates again after its deletion.
var probe = []string{"serviceaccount", "default", "--namespace=kube-public"}

// waitControllers waits until kube-controller-manager reconciles, and restarts components that exited. On a machine with
// too little CPU the API server exits if a hook at its start takes longer than it allows, and the others if the API server
// is not healthy within ten seconds.
func (c *Cluster) waitControllers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	var last error
	deleted := false
	reconciled := func(ctx context.Context) bool {
		if !deleted {
			last = c.kubectl(ctx, slices.Concat([]string{"delete", "--ignore-not-found", "--wait=false"}, probe)...)
			deleted = last == nil
		}
		if deleted {
			// One process that waits, since kubectl needs more CPU to start than to wait.
			last = c.kubectl(ctx, slices.Concat([]string{"wait", "--for=create", "--timeout=5s"}, probe)...)
		}
		return last == nil
	}
	err := wait.PollUntilContextCancel(ctx, 200*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		if reconciled(ctx) {
			return true, nil
		}
		ended, err := c.ended()
		if err != nil || !ended {
			return false, err
		}
		return false, c.startMissing(ctx)
	})
	if err != nil {
		return fmt.Errorf("wait for the controllers of cluster %q: %w%s", c.Name, errors.Join(err, last), c.logTail())
	}
	return nil
}

// ended reports whether a started component has exited.
func (c *Cluster) ended() (bool, error) {
	all, err := c.Components()
	return slices.ContainsFunc(all, func(one Component) bool { return !one.Running() }), err
}

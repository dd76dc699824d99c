package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/flotilla-dev/flotilla/libs/testkit/proc"

	"github.com/flotilla-dev/flotilla/tools/stack/internal/components"
)

const downTimeout = 2 * time.Minute

// down stops everything in any state. A running `up` is stopped first.
func (a *app) down(ctx context.Context) (err error) {
	unlock, err := a.takeLock(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	if err := a.takeDown(ctx); err != nil {
		return err
	}
	a.info("the stack is down; its logs stay in %s", a.env.Checkout.Local("log"))
	return nil
}

// takeDown stops the services in the order opposite to their start, so that they give back their leases, and then
// kills whatever else carries the stack's marker. The data is removed too: the components belong together, and a database
// that remembers the objects of another cluster would only confuse.
func (a *app) takeDown(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, downTimeout)
	defer cancel()
	mysql := components.NewMySQL(a.env)
	var errs []error
	for _, name := range slices.Backward(a.env.State.Services) {
		if !a.env.State.RealNode { // there they are pods
			errs = append(errs, components.NewService(a.env, name, noDSN).Stop(ctx))
		}
	}
	errs = append(errs, mysql.Remove(ctx))
	if a.env.State.RealNode {
		errs = append(errs, a.node.Stop(ctx))
	}
	_, err := proc.KillMarked(ctx, a.env.Checkout.Marker())
	errs = append(errs, err)
	if a.env.State.RealNode {
		err := a.node.Node.Remove(ctx)
		errs = append(errs, err)
		a.env.State.RealNode = err != nil // for another `down`
	} else {
		errs = append(errs, components.NewControlPlane(a.env).KeepLogs())
	}
	for _, name := range []string{"cluster", "nats", "mysql", "run", "cache", "accounts", "audit-policy.yaml"} {
		if err := os.RemoveAll(a.env.Checkout.Local(name)); err != nil {
			errs = append(errs, fmt.Errorf("remove the data of %s: %w", name, err))
		}
	}
	a.env.State.Services = nil
	return errors.Join(append(errs, a.removeEnv(), a.env.State.Save())...)
}

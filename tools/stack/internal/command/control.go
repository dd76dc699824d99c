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

// control stops, starts, restarts or kills one component. It builds no programs.
func (a *app) control(ctx context.Context, verb string, args []string) (err error) {
	all, mysql := a.all()
	part, err := pick(all, args)
	if err != nil {
		return err
	}
	unlock, err := a.lock()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	if verb == "kill" {
		return a.step("killing "+part.Name(), func() (string, error) { return "killed", kill(ctx, part) })
	}
	if verb != "start" {
		if err := a.step("stopping "+part.Name(), func() (string, error) { return "stopped", part.Stop(ctx) }); err != nil {
			return err
		}
	}
	if verb == "stop" {
		return nil
	}
	// Find the server: services get the address of the database at their start.
	mysql.Status(ctx)
	return a.ensure(ctx, part)
}

func pick(all []components.Component, args []string) (components.Component, error) {
	names := make([]string, 0, len(all))
	for _, part := range all {
		if len(args) == 1 && part.Name() == args[0] {
			return part, nil
		}
		names = append(names, part.Name())
	}
	return nil, fmt.Errorf("name one component of the stack: %s", list(names))
}

// kill kills a component that consists of one process, like a crash.
func kill(ctx context.Context, part components.Component) error {
	killable, ok := part.(interface{ Kill(context.Context) error })
	if !ok {
		return fmt.Errorf("%s has more than one process: use stop", part.Name())
	}
	return killable.Kill(ctx)
}

const downTimeout = 2 * time.Minute

// down stops a stack in any state. It first stops a running `up`.
func (a *app) down(ctx context.Context) (err error) {
	unlock, err := a.takeLock(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	if err := a.stopAll(ctx); err != nil {
		return err
	}
	a.info("the stack is down; its logs stay in %s", a.env.Checkout.Local("log"))
	return nil
}

// stopAll stops the services in reverse start order, so that they release their Leases, and then kills all other
// processes with the marker of the stack. It removes the data of all components, since a database with the objects of a
// deleted cluster would be inconsistent with a new one.
func (a *app) stopAll(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, downTimeout)
	defer cancel()
	mysql := components.NewMySQL(a.env)
	var errs []error
	for _, name := range slices.Backward(a.env.State.Services) {
		if !a.env.State.RealNode { // services on a real node are pods
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

// mysql opens the stack's database in a client of the server; args are the client's.
func (a *app) mysql(ctx context.Context, args []string) error {
	cmd, err := components.NewMySQL(a.env).Client(ctx, isTerminal(os.Stdin) && isTerminal(a.out), args...)
	if err != nil {
		return err
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, a.out, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("run the MySQL client: %w", err)
	}
	return nil
}

package command

import (
	"context"
	"errors"
	"fmt"

	"github.com/flotilla-dev/flotilla/tools/stack/internal/components"
)

// control stops, starts, restarts or kills one component; nothing is built.
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
	// A service gets the address of the database, which is known only after this lookup.
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

// kill ends a component of one process as a crash would.
func kill(ctx context.Context, part components.Component) error {
	killable, ok := part.(interface{ Kill(context.Context) error })
	if !ok {
		return fmt.Errorf("%s is more than one process; stop it", part.Name())
	}
	return killable.Kill(ctx)
}

package run

import (
	"context"
	"errors"
	"sync"
)

// Action is a part of a phase.
type Action func(context.Context, *Step) error

// InOrder runs actions one after the other until one fails.
func InOrder(actions ...Action) Action {
	return func(ctx context.Context, s *Step) error {
		for _, do := range actions {
			if err := do(ctx, s); err != nil {
				return err
			}
		}
		return nil
	}
}

// InParallel runs actions at the same time, and returns the errors of all of them.
func InParallel(actions ...Action) Action {
	return func(ctx context.Context, s *Step) error {
		problems := make([]error, len(actions))
		var group sync.WaitGroup
		for i, do := range actions {
			group.Go(func() { problems[i] = do(ctx, s) })
		}
		group.Wait()
		return errors.Join(problems...)
	}
}

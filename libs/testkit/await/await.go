// Package await polls for conditions in programs. Tests use package expect.
package await

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// stopped is an error that ends polling.
type stopped struct{ error }

func (s stopped) Unwrap() error { return s.error }

// Stop marks an error as permanent: Nil returns it without further checks.
func Stop(err error) error { return stopped{err} }

// Nil calls check immediately and then at every interval until it returns nil. If the timeout expires or ctx ends, the
// returned error wraps the last error of check.
func Nil(ctx context.Context, timeout, interval time.Duration, check func(context.Context) error) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, interval, timeout, true, func(ctx context.Context) (bool, error) {
		last = check(ctx)
		if stop := (stopped{}); errors.As(last, &stop) {
			return false, stop.error
		}
		return last == nil, nil
	})
	switch {
	case err == nil || !wait.Interrupted(err):
		return err
	case ctx.Err() != nil:
		return errors.Join(context.Cause(ctx), last)
	default:
		return fmt.Errorf("not within %s: %w", timeout, last)
	}
}

package await_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/flotilla-dev/flotilla/libs/testkit/await"
)

var errNotYet = errors.New("not yet")

func TestNilReturnsOnSuccess(t *testing.T) {
	calls := 0
	err := await.Nil(t.Context(), time.Minute, time.Millisecond, func(context.Context) error {
		if calls++; calls < 3 {
			return errNotYet
		}
		return nil
	})
	if err != nil || calls != 3 {
		t.Errorf("%v after %d calls", err, calls)
	}
}

func TestNilReportsLastError(t *testing.T) {
	never := func(context.Context) error { return errNotYet }
	err := await.Nil(t.Context(), 20*time.Millisecond, time.Millisecond, never)
	if !errors.Is(err, errNotYet) || !strings.Contains(err.Error(), "20ms") {
		t.Errorf("after the timeout: %v", err)
	}
	reason := errors.New("a program ended")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(reason)
	if err := await.Nil(ctx, time.Minute, time.Millisecond, never); !errors.Is(err, reason) {
		t.Errorf("after the end of the context: %v", err)
	}
}

func TestStopEndsNil(t *testing.T) {
	reason := errors.New("it ended")
	err := await.Nil(t.Context(), time.Minute, time.Millisecond, func(context.Context) error { return await.Stop(reason) })
	if !errors.Is(err, reason) {
		t.Error(err)
	}
}

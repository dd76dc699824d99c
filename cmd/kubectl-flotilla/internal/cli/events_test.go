package cli

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/flotilla-dev/flotilla/cmd/kubectl-flotilla/internal/statustest"
)

// retryClock signals each delay before another attempt; no other timer of the command is made by After.
type retryClock struct {
	*clocktesting.FakeClock
	delayed chan struct{}
}

func (c retryClock) After(d time.Duration) <-chan time.Time {
	timer := c.FakeClock.After(d)
	c.delayed <- struct{}{}
	return timer
}

func TestEventsSinceReportsUnavailableAPI(t *testing.T) {
	s, api := asReader(t)
	c := retryClock{clocktesting.NewFakeClock(noon), make(chan struct{}, 1)}
	s.app = func(a *App) { a.Clock = c }
	api.Fail(http.StatusServiceUnavailable, "Unavailable", "The bus is unavailable.")
	done := s.background(t.Context(), "events", "--since=42")
	<-c.delayed
	c.Step(requestTimeout)
	const want = "no answer within 15s: follow events: the status API returned Unavailable: The bus is unavailable."
	if err := <-done; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want an error with %q", err, want)
	}
}

// resetClock signals the resets of timers.
type resetClock struct {
	retryClock
	resets chan time.Duration
}

type resetTimer struct {
	clock.Timer
	resets chan time.Duration
}

func (c resetClock) NewTimer(d time.Duration) clock.Timer {
	return resetTimer{c.retryClock.NewTimer(d), c.resets}
}

func (r resetTimer) Reset(d time.Duration) bool {
	active := r.Timer.Reset(d)
	r.resets <- d
	return active
}

// connected waits until the command has received the first data, and returns the time after which it ends.
func (c resetClock) connected() time.Duration {
	for d := range c.resets {
		if d <= replayTimeout { // not the timeout of the connection
			return d
		}
	}
	return 0
}

func TestEventsSinceReportsIncompleteReplay(t *testing.T) {
	for name, tc := range map[string]struct {
		interrupt func(c resetClock, api *statustest.Server)
		want      string
	}{
		"slow bus": {func(resetClock, *statustest.Server) {}, "events may be missing: the status API did not send all of them within 20s"},
		"broken connection": {func(c resetClock, api *statustest.Server) {
			api.Fail(http.StatusServiceUnavailable, "Unavailable", "The bus is unavailable.")
			api.Disconnect()
			<-c.delayed
		}, "events may be missing: "},
	} {
		t.Run(name, func(t *testing.T) {
			s, api := asReader(t)
			c := resetClock{retryClock{clocktesting.NewFakeClock(noon), make(chan struct{}, 8)}, make(chan time.Duration, 64)}
			s.app = func(a *App) { a.Clock = c }
			api.HoldReplay()
			done := s.background(t.Context(), "events", "--since=42")
			end := c.connected()
			tc.interrupt(c, api)
			c.Step(end)
			if err := s.ended(done); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want an error with %q", err, tc.want)
			}
		})
	}
}

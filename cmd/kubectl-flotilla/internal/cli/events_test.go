package cli

import (
	"net/http"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
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

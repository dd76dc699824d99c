package cli

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
)

func TestEventsSinceReportsUnavailableAPI(t *testing.T) {
	s, api := asReader(t)
	c := clocktesting.NewFakeClock(noon)
	s.app = func(a *App) { a.Clock = c }
	api.Fail(http.StatusServiceUnavailable, "Unavailable", "The bus is unavailable.")
	done := s.background(t.Context(), "events", "--since=42")
	expect.Eventually(t, expect.Long, func() error {
		if n := c.Waiters(); n != 2 {
			return fmt.Errorf("%d timers, want that of the command and that of the next attempt", n)
		}
		return nil
	})
	c.Step(requestTimeout)
	const want = "no answer within 15s: follow events: the status API returned Unavailable: The bus is unavailable."
	if err := <-done; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want an error with %q", err, want)
	}
}

package epoch

import (
	"errors"
	"testing"
	"time"

	"github.com/go-logr/logr"
	clocktesting "k8s.io/utils/clock/testing"
)

// The messages of all objects resolve the epoch before the stream exists.
func TestResolveLimitsFailingRequests(t *testing.T) {
	clk := clocktesting.NewFakeClock(time.Unix(1000, 0))
	requests, reply := 0, errors.New("no responders")
	e := New("prod", "tester", func() int64 { return 7 }, func(string) (int64, error) {
		requests++
		return 7, reply
	}, clk, logr.Discard())
	for range 10 {
		for range 100 {
			if _, err := e.Resolve(); !errors.Is(err, reply) {
				t.Fatalf("error is %v, want %v", err, reply)
			}
		}
		clk.Step(retryAfter)
	}
	if requests != 10 {
		t.Errorf("got %d requests in a second, want 10", requests)
	}
	reply = nil
	if got, err := e.Resolve(); got != 8 || err != nil {
		t.Errorf("got %d, %v; want 8", got, err)
	}
}

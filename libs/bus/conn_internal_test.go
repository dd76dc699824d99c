package bus

import (
	"fmt"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/nats-io/nats.go"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/flotilla-dev/flotilla/libs/bus/internal/metrics"
)

// Each object of a denied kind has a subject, and its operator may run for months without a reconnect.
func TestDeniedSubjectsAreBounded(t *testing.T) {
	m, err := metrics.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	clk, logged := clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)), 0
	c := &Conn{
		cfg: Config{Clock: clk}, metrics: m, denied: map[string]time.Time{},
		log: funcr.New(func(string, string) { logged++ }, funcr.Options{}),
	}
	const objects = 1000
	deny := func(generation int) {
		for i := range objects {
			c.asyncError(fmt.Errorf("%w: Permissions Violation for Publish to %q", nats.ErrPermissionViolation, fmt.Sprintf("s%d.%d", generation, i)))
		}
	}
	for generation := range 3 {
		deny(generation)
		if len(c.denied) != objects || !c.Denied(fmt.Sprintf("s%d.0", generation)) {
			t.Errorf("%d subjects are recorded, want the %d of the last minute", len(c.denied), objects)
		}
		if want := (generation + 1) * maxDeniedLogged; logged != want {
			t.Errorf("%d lines are logged, want %d", logged, want)
		}
		clk.Step(deniedTTL + time.Second)
	}
	deny(2) // they are published again before they expire
	deny(2)
	clk.Step(deniedTTL)
	before := logged
	deny(2)
	clk.Step(2 * time.Second)
	c.asyncError(fmt.Errorf("%w: Permissions Violation for Publish to %q", nats.ErrPermissionViolation, "heartbeat"))
	if logged != before+1 {
		t.Errorf("%d lines are logged for another denied subject, want 1", logged-before)
	}
}

package lease

import (
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

// machineClock is a clock whose monotonic part stops while the machine is suspended.
type machineClock struct {
	*clocktesting.FakeClock

	suspended time.Duration
}

func (c *machineClock) Since(t time.Time) time.Duration { return c.FakeClock.Since(t) - c.suspended }

func TestHolderDetectsSuspendedMachine(t *testing.T) {
	f := newFixture(t)
	machine := &machineClock{FakeClock: f.clock}
	f.cfg.Clock = machine
	k := New(f.cfg)
	if err := k.Step(t.Context()); err != nil {
		t.Fatal(err)
	}
	machine.suspended = time.Hour
	f.clock.Step(machine.suspended)
	if k.Held() {
		t.Error("held after a suspension of the machine")
	}
	if err := k.Step(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.want(k, false, 0)
	if err := f.step(k, f.cfg.HoldOff); err != nil {
		t.Fatal(err)
	}
	f.want(k, true, machine.suspended+f.cfg.HoldOff)
}

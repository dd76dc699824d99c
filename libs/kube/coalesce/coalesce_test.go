package coalesce_test

import (
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/flotilla-dev/flotilla/libs/kube/coalesce"
)

func TestWaitFollowsLastWrite(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	clk := clocktesting.NewFakePassiveClock(start)
	d := coalesce.New[string](clk)
	wait := func(object string, want time.Duration) {
		t.Helper()
		if got := d.Wait(object); got != want {
			t.Errorf("%s waits %v, want %v", object, got, want)
		}
	}
	wait("a", 0)
	d.Written("a")
	wait("a", coalesce.Interval)
	wait("b", 0)
	clk.SetTime(start.Add(time.Second))
	wait("a", coalesce.Interval-time.Second)
	d.Written("a")
	wait("a", coalesce.Interval)
	clk.SetTime(start.Add(time.Second + coalesce.Interval))
	wait("a", 0)
	clk.SetTime(start.Add(time.Hour))
	wait("a", 0)
	d.Written("a")
	d.Forget("a")
	wait("a", 0)
}

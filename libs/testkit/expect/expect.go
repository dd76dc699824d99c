// Package expect polls for conditions in tests, so that tests neither sleep nor depend on timing.
//
// A timeout is the time after which the test fails, not an expected duration: make it generous. A failed test prints the
// last error of the check, so that error should describe the observed state:
//
//	expect.Eventually(t, expect.Long, func() error {
//		if n := countRows(); n != 3 {
//			return fmt.Errorf("%d rows instead of 3", n)
//		}
//		return nil
//	})
package expect

import (
	"context"
	"testing"
	"time"
)

// Long is the default timeout. Any working operation finishes well within it, also when all suites and the end-to-end scenarios
// share two cores: an upgrade that takes 5 s on an idle machine then takes more than one minute.
const Long = 5 * time.Minute

// The intervals between checks of Never and of Eventually. Those of Eventually grow, since parallel tests that poll
// without a pause slow down the component that they wait for.
const (
	interval    = 25 * time.Millisecond
	minInterval = 10 * time.Millisecond
	maxInterval = 200 * time.Millisecond
)

// Eventually runs check until it returns nil, and fails the test with its last error when timeout passes.
func Eventually(t testing.TB, timeout time.Duration, check func() error) {
	t.Helper()
	var last error
	if !poll(t.Context(), timeout, growingInterval(), func() bool { last = check(); return last == nil }) {
		t.Fatalf("not true after %s: %v", timeout, last)
	}
}

// Never runs check for the whole duration and fails the test at the first error, which describes the violation.
func Never(t testing.TB, duration time.Duration, check func() error) {
	t.Helper()
	var violation error
	if poll(t.Context(), duration, func() time.Duration { return interval }, func() bool { violation = check(); return violation != nil }) {
		t.Fatalf("must never happen: %v", violation)
	}
}

// growingInterval returns a function that returns the intervals between the checks of Eventually.
func growingInterval() func() time.Duration {
	next := minInterval
	return func() time.Duration {
		now := next
		next = min(next*3/2, maxInterval)
		return now
	}
}

// poll calls done repeatedly, at least once, and reports whether it returned true before the timeout.
func poll(ctx context.Context, timeout time.Duration, pause func() time.Duration, done func() bool) bool {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	timer := time.NewTimer(pause())
	defer timer.Stop()
	for !done() {
		select {
		case <-ctx.Done():
			return false
		case <-timer.C:
			timer.Reset(pause())
		}
	}
	return true
}

// Package expect waits for what a test expects, without sleeping and without saying how long something should take.
//
// A timeout here is the point at which the test fails, not a claim about speed: make it generous. On failure the
// last error of the check is the message, so it should describe the observed state:
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

// Long is a timeout for anything that works at all.
const Long = 2 * time.Minute

// The pauses between two checks of Never, and between those of Eventually: short at first, then longer, since
// parallel tests that poll without a pause keep busy what they wait for.
const (
	interval = 25 * time.Millisecond
	shortest = 10 * time.Millisecond
	longest  = 50 * time.Millisecond
)

// Eventually runs check until it returns nil, and fails the test with its last error when timeout passes.
func Eventually(t testing.TB, timeout time.Duration, check func() error) {
	t.Helper()
	var last error
	if !poll(t.Context(), timeout, growing(), func() bool { last = check(); return last == nil }) {
		t.Fatalf("not true after %s: %v", timeout, last)
	}
}

// Never runs check for the whole of duration and fails the test at the first error; so check describes the violation.
func Never(t testing.TB, duration time.Duration, check func() error) {
	t.Helper()
	var violation error
	if poll(t.Context(), duration, func() time.Duration { return interval }, func() bool { violation = check(); return violation != nil }) {
		t.Fatalf("must never happen: %v", violation)
	}
}

// growing gives the pauses between the checks of Eventually.
func growing() func() time.Duration {
	next := shortest
	return func() time.Duration {
		now := next
		next = min(next*3/2, longest)
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

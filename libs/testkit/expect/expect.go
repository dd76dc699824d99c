// Package expect waits for what a test expects, without sleeping and without saying how long something should take.
//
// A timeout here is the point at which the test gives up, not a claim about speed: make it generous. On failure the
// last answer of the check is the message, so let the check say what it saw:
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
const Long = 60 * time.Second

// interval lies between two checks.
const interval = 25 * time.Millisecond

// Eventually runs check until it returns nil, and fails the test with its last error when timeout passes.
func Eventually(t testing.TB, timeout time.Duration, check func() error) {
	t.Helper()
	var last error
	if !poll(t.Context(), timeout, func() bool { last = check(); return last == nil }) {
		t.Fatalf("not true after %s: %v", timeout, last)
	}
}

// Never runs check for the whole of duration and fails the test at the first error; so check describes the violation.
func Never(t testing.TB, duration time.Duration, check func() error) {
	t.Helper()
	var violation error
	if poll(t.Context(), duration, func() bool { violation = check(); return violation != nil }) {
		t.Fatalf("must never happen: %v", violation)
	}
}

// poll asks again and again, at least once, and says whether the answer was yes before the time was over.
func poll(ctx context.Context, timeout time.Duration, done func() bool) bool {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for !done() {
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
	}
	return true
}

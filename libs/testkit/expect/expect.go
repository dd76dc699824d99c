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
	"errors"
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
	if err := until(timeout, t.Context().Done(), check); err != nil {
		t.Fatalf("not true after %s: %v", timeout, err)
	}
}

// Never runs check for the whole of duration and fails the test at the first error; so check describes the violation.
func Never(t testing.TB, duration time.Duration, check func() error) {
	t.Helper()
	violated := errors.New("")
	err := until(duration, t.Context().Done(), func() error {
		if violated = check(); violated != nil {
			return nil // stop here
		}
		return errHolds
	})
	if err == nil {
		t.Fatalf("must never happen: %v", violated)
	}
}

var (
	errHolds = errors.New("holds so far")
	errEnded = errors.New("the test's context ended")
)

// until returns nil as soon as check does, else check's last error.
func until(timeout time.Duration, done <-chan struct{}, check func() error) error {
	deadline := time.NewTimer(timeout)
	defer deadline.Stop()
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		err := check()
		if err == nil {
			return nil
		}
		select {
		case <-done:
			return errors.Join(errEnded, err)
		case <-deadline.C:
			return err
		case <-tick.C:
		}
	}
}

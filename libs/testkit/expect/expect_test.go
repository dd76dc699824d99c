package expect_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
)

const short = 100 * time.Millisecond

func ExampleEventually() {
	var t *testing.T // the test's own
	countRows := func() int { return 3 }
	if t == nil {
		fmt.Println("a check prints the observed value:", check(countRows))
		return
	}
	expect.Eventually(t, expect.Long, func() error { return check(countRows) })
	// Output: a check prints the observed value: 3 rows instead of 4
}

func check(countRows func() int) error {
	if n := countRows(); n != 4 {
		return fmt.Errorf("%d rows instead of 4", n)
	}
	return nil
}

// recorder is a test that records how it failed.
type recorder struct {
	*testing.T
	message string
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.message += fmt.Sprintf(format, args...)
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.message = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// outcome runs f as a test would and returns its failure, or nothing.
func outcome(t *testing.T, f func(testing.TB)) string {
	t.Helper()
	r := &recorder{T: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(r)
	}()
	<-done
	return r.message
}

func TestEventuallyReturnsOnFirstSuccess(t *testing.T) {
	calls := 0
	expect.Eventually(t, expect.Long, func() error {
		if calls++; calls < 3 {
			return errors.New("not yet")
		}
		return nil
	})
	if calls != 3 {
		t.Errorf("checked %d times instead of 3", calls)
	}
}

func TestEventuallyReportsLastError(t *testing.T) {
	calls := 0
	message := outcome(t, func(tb testing.TB) {
		tb.Helper()
		expect.Eventually(tb, short, func() error {
			calls++
			return fmt.Errorf("seen %d", calls)
		})
	})
	if want := fmt.Sprintf("seen %d", calls); calls < 2 || !strings.Contains(message, want) {
		t.Errorf("%q after %d checks, want %q in it", message, calls, want)
	}
}

func TestNeverReportsFirstViolation(t *testing.T) {
	calls := 0
	message := outcome(t, func(tb testing.TB) {
		tb.Helper()
		expect.Never(tb, expect.Long, func() error {
			if calls++; calls == 2 {
				return errors.New("a boat was lost")
			}
			return nil
		})
	})
	if calls != 2 || !strings.Contains(message, "a boat was lost") {
		t.Errorf("%q after %d checks", message, calls)
	}
}

func TestNeverRunsUntilTimeout(t *testing.T) {
	calls := 0
	expect.Never(t, short, func() error {
		calls++
		return nil
	})
	if calls < 2 {
		t.Errorf("checked only %d times", calls)
	}
}

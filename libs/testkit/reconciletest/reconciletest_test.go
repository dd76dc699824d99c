package reconciletest_test

import (
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"

	"github.com/flotilla-dev/flotilla/libs/testkit/reconciletest"
)

// recorder records whether the test failed.
type recorder struct {
	testing.TB
	failed bool
}

func (r *recorder) Helper()      {}
func (r *recorder) Error(...any) { r.failed = true }

func TestWatch(t *testing.T) {
	disabled := logr.New(funcr.New(func(_, _ string) { t.Error("a disabled logger got a line") }, funcr.Options{Verbosity: -1}).GetSink())
	for message, want := range map[string]bool{
		"Warning: " + reconciletest.Warning + " a non-zero result and a non-nil error": true,
		"Reconciled": false,
	} {
		for _, next := range []logr.Logger{logr.Discard(), disabled} {
			r := &recorder{TB: t}
			log, check := reconciletest.Watch(r, next)
			log.WithName("engine").WithValues("name", "a").Info(message)
			if check(); r.failed != want {
				t.Errorf("%q: failed %t, want %t", message, r.failed, want)
			}
		}
	}
}

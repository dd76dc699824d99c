package reconciletest_test

import (
	"errors"
	"strings"
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
	disabled := logr.New(funcr.New(func(prefix, args string) {
		if !strings.Contains(args, "Reconciler error") { // errors have no level
			t.Errorf("a disabled logger got the line %s %s", prefix, args)
		}
	}, funcr.Options{Verbosity: -1}).GetSink())
	for name, tc := range map[string]struct {
		log  func(logr.Logger)
		want bool
	}{
		"a result and an error": {func(l logr.Logger) {
			l.Info("Warning: " + reconciletest.Warning + " a non-zero result and a non-nil error")
		}, true},
		"a panic":   {func(l logr.Logger) { l.Error(errors.New("panic: nil pointer [recovered]"), "Reconciler error") }, true},
		"an error":  {func(l logr.Logger) { l.Error(errors.New("not found"), "Reconciler error") }, false},
		"a success": {func(l logr.Logger) { l.Info("Reconciled") }, false},
	} {
		for _, next := range []logr.Logger{logr.Discard(), disabled} {
			r := &recorder{TB: t}
			log, check := reconciletest.Watch(r, next)
			tc.log(log.WithName("engine").WithValues("name", "a"))
			if check(); r.failed != tc.want {
				t.Errorf("%s: failed %t, want %t", name, r.failed, tc.want)
			}
		}
	}
}

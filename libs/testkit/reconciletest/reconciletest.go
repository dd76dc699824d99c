// Package reconciletest checks in the log of a manager that no reconcile panicked, or returned both a result and an error.
package reconciletest

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
)

// Warning begins the message of controller-runtime when it ignores the result next to an error.
const Warning = "Reconciler returned both"

// recovered ends the error of a reconcile whose panic controller-runtime recovered.
const recovered = "[recovered]"

// Watch returns a logger for the manager, which forwards to log, and a function that fails the
// test if a reconcile panicked or returned both. Call it after the manager has ended.
func Watch(t testing.TB, log logr.Logger) (logger logr.Logger, check func()) {
	t.Helper()
	next := log.GetSink()
	if next == nil { // of a logger that discards
		next = funcr.New(func(_, _ string) {}, funcr.Options{}).GetSink()
	}
	found := &findings{}
	return logr.New(&sink{next, found}), func() {
		t.Helper()
		if found.warned.Load() {
			t.Error("a reconcile returned both a result and an error")
		}
		if err := found.panic.Load(); err != nil {
			t.Error(*err)
		}
	}
}

type findings struct {
	warned atomic.Bool
	panic  atomic.Pointer[string]
}

type sink struct {
	logr.LogSink
	*findings
}

// Enabled implements logr.LogSink. The warning must arrive even if the next sink discards it.
func (s *sink) Enabled(level int) bool { return level == 0 || s.LogSink.Enabled(level) }

// Info implements logr.LogSink.
func (s *sink) Info(level int, message string, keysAndValues ...any) {
	if strings.Contains(message, Warning) {
		s.warned.Store(true)
	}
	if s.LogSink.Enabled(level) {
		s.LogSink.Info(level, message, keysAndValues...)
	}
}

// Error implements logr.LogSink.
func (s *sink) Error(err error, message string, keysAndValues ...any) {
	if err != nil && strings.HasSuffix(err.Error(), recovered) {
		text := err.Error()
		s.panic.Store(&text)
	}
	s.LogSink.Error(err, message, keysAndValues...)
}

// WithValues implements logr.LogSink.
func (s *sink) WithValues(keysAndValues ...any) logr.LogSink {
	return &sink{s.LogSink.WithValues(keysAndValues...), s.findings}
}

// WithName implements logr.LogSink.
func (s *sink) WithName(name string) logr.LogSink { return &sink{s.LogSink.WithName(name), s.findings} }

package run

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// interval is the time between two checks of Until.
	interval = 250 * time.Millisecond
	// pollsPerLog is the number of checks after which Until logs the unmet condition again.
	pollsPerLog = 80
)

// Step gives the phases of one scenario a log, notes for the report, and waits.
type Step struct {
	scenario string
	out      io.Writer
	now      func() time.Time

	mu    sync.Mutex
	open  []*wait // the unmet conditions; several when steps run in parallel
	notes []string
}

// wait is a condition that Until waits for.
type wait struct {
	what string
	last error // the result of the last check
}

// Log prints a line with the time and the name of the scenario.
func (s *Step) Log(format string, args ...any) {
	fmt.Fprintf(s.out, "%s %s: %s\n", s.now().UTC().Format("15:04:05"), s.scenario, fmt.Sprintf(format, args...))
}

// Now returns the time of the runner's clock.
func (s *Step) Now() time.Time { return s.now() }

// Note adds a line to the report.
func (s *Step) Note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notes = append(s.notes, fmt.Sprintf(format, args...))
}

// Until polls check until it returns nil or the context ends. If the scenario fails, the report shows what, the
// description of the unmet condition, with the last error of check.
func (s *Step) Until(ctx context.Context, what string, check func(context.Context) error) error {
	w := s.expect(what)
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for n := 1; ; n++ {
		err := check(ctx)
		if err == nil {
			s.markMet(w)
			return nil
		}
		if ctx.Err() == nil {
			s.recordCheck(w, err) // a canceled check has no result
		}
		if n%pollsPerLog == 0 {
			s.Log("waiting for %s", s.describe(w))
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waited for %s", s.describe(w))
		case <-tick.C:
		}
	}
}

func (s *Step) expect(what string) *wait {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := &wait{what: what}
	s.open = append(s.open, w)
	return w
}

func (s *Step) recordCheck(w *wait, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.last = err
}

func (s *Step) markMet(w *wait) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = slices.DeleteFunc(s.open, func(other *wait) bool { return other == w })
}

func (s *Step) describe(w *wait) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return w.String()
}

func (w *wait) String() string {
	if w.last == nil {
		return w.what
	}
	return fmt.Sprintf("%s; last seen: %v", w.what, w.last)
}

// waited returns the unmet conditions with their last errors.
func (s *Step) waited() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.open) == 0 {
		return "nothing"
	}
	var all []string
	for _, w := range s.open {
		all = append(all, w.String())
	}
	return strings.Join(all, "; and ")
}

// Notes returns the lines of the report so far.
func (s *Step) Notes() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.notes...)
}

// Pass waits for d or until the context ends.
func (s *Step) Pass(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

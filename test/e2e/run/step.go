package run

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"
)

// interval lies between two checks of Until.
const interval = 250 * time.Millisecond

// Step is what the steps of a scenario have in common.
type Step struct {
	scenario string
	out      io.Writer
	now      func() time.Time

	mu      sync.Mutex
	waiting string
	last    error
	notes   []string
}

// Log tells what a scenario does.
func (s *Step) Log(format string, args ...any) {
	fmt.Fprintf(s.out, "%s %s: %s\n", s.now().UTC().Format("15:04:05"), s.scenario, fmt.Sprintf(format, args...))
}

// Note adds a line to the report.
func (s *Step) Note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notes = append(s.notes, fmt.Sprintf(format, args...))
}

// Until asks again and again until check returns nil, or the context ends. What is waited for, and the last answer,
// are told when the scenario fails.
func (s *Step) Until(ctx context.Context, what string, check func(context.Context) error) error {
	s.expect(what)
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() == nil {
			s.answer(err) // the answer to a question that was broken off says nothing
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waited for %s", s.waited())
		case <-tick.C:
		}
	}
}

func (s *Step) expect(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting, s.last = what, nil
}

func (s *Step) answer(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = err
}

// waited says what was waited for last, and what the last answer was.
func (s *Step) waited() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.waiting == "":
		return "nothing"
	case s.last == nil:
		return s.waiting
	}
	return fmt.Sprintf("%s; last seen: %v", s.waiting, s.last)
}

func (s *Step) allNotes() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.notes...)
}

package run

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"
)

const (
	// interval lies between two checks of Until.
	interval = 250 * time.Millisecond
	// patience is after how many checks Until says what it waits for, again and again.
	patience = 80
)

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

// Now is the time by the clock of the runner.
func (s *Step) Now() time.Time { return s.now() }

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
	for n := 1; ; n++ {
		err := check(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() == nil {
			s.answer(err) // the answer to a question that was broken off says nothing
		}
		if n%patience == 0 {
			s.Log("waiting for %s", s.waited())
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

// Pass lets time pass in which nothing is changed.
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

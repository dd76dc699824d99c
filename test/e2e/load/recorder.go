package load

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// maxFailures limits the failed requests that a phase describes.
const maxFailures = 20

// Outcome is the result of one request.
type Outcome struct {
	Class    string
	Good     bool
	Answered bool // a server answered, so Duration is a latency
	Retried  bool
	Duration time.Duration // since the request began
	Detail   string        // description of a failure
	ID       string        // if servers report the execution of the request
	location string        // target of a redirect
}

// Recorder counts outcomes by phase. It is safe for concurrent use.
type Recorder struct {
	mu       sync.Mutex
	now      func() time.Time
	lastGood time.Time         // time of the last good answer, initially of the start
	phases   []Figures         // the last one is the current phase
	runs     map[string]string // the first reported execution of each request
}

// NewRecorder returns a recorder whose first phase has the given name.
func NewRecorder(now func() time.Time, phase string) *Recorder {
	t := &Recorder{now: now, runs: map[string]string{}}
	t.Reset(phase)
	return t
}

// Reset deletes all figures and begins the given phase.
func (t *Recorder) Reset(phase string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.phases = nil
	t.lastGood = t.now()
	t.startPhase(phase)
}

// Phase ends the current phase and begins another. A repeated call with the same name has no effect, so the runner can
// retry after a lost answer.
func (t *Recorder) Phase(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.phases[len(t.phases)-1].Phase == name {
		return
	}
	t.close()
	t.startPhase(name)
}

// Add counts an outcome that ends now in the phase in which its request began: late failures of an outage must not count
// in the phase that follows.
func (t *Recorder) Add(o Outcome) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	f := t.at(now.Add(-o.Duration))
	f.Answers++
	f.Classes[o.Class]++
	if o.Retried {
		f.Retried++
	}
	if o.Answered {
		f.Latency[bucket(o.Duration)].Count++
	}
	t.gap(&t.phases[len(t.phases)-1], now)
	if o.Good && o.ID != "" && t.runs[o.ID] == "" {
		f.Unreported++
	}
	if o.Good {
		t.lastGood = now
		return
	}
	f.Failed++
	f.note(now, o.Class+": "+o.Detail)
}

// Executed counts the execution run of a request. The same run again changes nothing, so that a report may be repeated.
func (t *Recorder) Executed(id, run string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f := &t.phases[len(t.phases)-1]
	switch first := t.runs[id]; first {
	case "":
		t.runs[id] = run
		f.Executed++
	case run:
	default:
		f.Twice++
		f.note(t.now(), fmt.Sprintf("request %s was executed by %s and %s", id, first, run))
	}
}

// note keeps the first failures in words.
func (f *Figures) note(now time.Time, text string) {
	if len(f.Failures) < maxFailures {
		f.Failures = append(f.Failures, now.UTC().Format("15:04:05.000")+" "+text)
	}
}

// Figures returns the figures of each phase until now.
func (t *Recorder) Figures() []Figures {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.close()
	out := make([]Figures, len(t.phases))
	for i, f := range t.phases {
		f.Classes, f.Latency, f.Failures = maps.Clone(f.Classes), slices.Clone(f.Latency), slices.Clone(f.Failures)
		out[i] = f
	}
	return out
}

// at returns the phase that contains a time, or the first phase for earlier times.
func (t *Recorder) at(t0 time.Time) *Figures {
	i := len(t.phases) - 1
	for i > 0 && t0.Before(t.phases[i].StartedAt) {
		i--
	}
	return &t.phases[i]
}

func (t *Recorder) startPhase(name string) {
	t.phases = append(t.phases, Figures{Phase: name, StartedAt: t.now(), Classes: map[string]int{}, Latency: newBuckets()})
}

// close updates the duration and the longest gap of the current phase.
func (t *Recorder) close() {
	f := &t.phases[len(t.phases)-1]
	now := t.now()
	f.Seconds = now.Sub(f.StartedAt).Seconds()
	t.gap(f, now)
}

func (t *Recorder) gap(f *Figures, now time.Time) {
	if gap := now.Sub(t.lastGood).Seconds(); gap > f.LongestGap {
		f.LongestGap, f.GapStart = gap, t.lastGood
	}
}

func bucket(duration time.Duration) int {
	i, _ := slices.BinarySearch(bounds, duration.Seconds())
	return i
}

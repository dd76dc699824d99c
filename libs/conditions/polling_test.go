package conditions_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

// run computes the conditions now and at each deadline until the next event, and at the
// given times in between.
func (h *history) run(o *contract.Observation, until time.Time, times []time.Time, generation int64) {
	h.t.Helper()
	at := h.now
	for {
		seen := &object{t: h.t, generation: generation, conditions: h.conditions}
		w := &writer{memory: h.memory}
		r := w.write(seen, at, o)
		h.memory, h.conditions = w.memory, seen.conditions
		next := r.Next
		if i := slices.IndexFunc(times, func(l time.Time) bool { return l.After(at) }); i >= 0 && (next.IsZero() || times[i].Before(next)) {
			next = times[i]
		}
		if next.IsZero() || !next.Before(until) {
			h.now = until
			return
		}
		at = next
	}
}

// A writer that computes more often than the deadlines require gets the same results, then and
// later: a resync, a restart or an event without a change has no effect.
func TestFrequentComputeChangesNothing(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 9)) // a history must be repeatable
		rare, frequent := newHistory(t), newHistory(t)
		o := &object{t: t, generation: 2}
		for i := range 40 {
			seen := nextObservation(r, o)
			until := rare.now.Add(time.Duration(1+r.IntN(200)) * time.Second)
			var times []time.Time
			for range r.IntN(4) {
				times = append(times, rare.now.Add(time.Duration(r.Int64N(int64(until.Sub(rare.now))))))
			}
			slices.SortFunc(times, time.Time.Compare)
			rare.run(seen, until, nil, o.generation)
			frequent.run(seen, until, times, o.generation)
			if diff := cmp.Diff(rare.conditions, frequent.conditions); diff != "" {
				t.Fatalf("seed %d, event %d (-rare +frequent):\n%s", seed, i, diff)
			}
		}
	}
}

package conditions_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

// live computes the conditions now and at each deadline until the next event, and at the
// given times in between.
func (h *history) live(o *contract.Observation, until time.Time, looks []time.Time, generation int64) {
	h.t.Helper()
	at := h.now
	for {
		seen := &object{t: h.t, generation: generation, conditions: h.stands}
		w := &writer{memory: h.memory}
		r := w.write(seen, at, o)
		h.memory, h.stands = w.memory, seen.conditions
		next := r.Next
		if i := slices.IndexFunc(looks, func(l time.Time) bool { return l.After(at) }); i >= 0 && (next.IsZero() || looks[i].Before(next)) {
			next = looks[i]
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
		seldom, often := newHistory(t), newHistory(t)
		o := &object{t: t, generation: 2}
		for i := range 40 {
			seen := happen(r, o)
			until := seldom.now.Add(time.Duration(1+r.IntN(200)) * time.Second)
			var looks []time.Time
			for range r.IntN(4) {
				looks = append(looks, seldom.now.Add(time.Duration(r.Int64N(int64(until.Sub(seldom.now))))))
			}
			slices.SortFunc(looks, time.Time.Compare)
			seldom.live(seen, until, nil, o.generation)
			often.live(seen, until, looks, o.generation)
			if diff := cmp.Diff(seldom.stands, often.stands); diff != "" {
				t.Fatalf("seed %d, event %d (-seldom +often):\n%s", seed, i, diff)
			}
		}
	}
}

package conditions_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/contract"
)

// change is one change of Degraded.
type change struct {
	at        time.Duration // since the start
	condition string
}

// flap runs a failure that appears and clears repeatedly and, like a caller, computes
// at every deadline in between. It returns each change of Degraded.
func flap(h *history, failure *contract.Observation, badFor, goodFor, length time.Duration) []change {
	h.t.Helper()
	startedAt := h.now
	var changes []change
	var last string
	compute := func(at time.Time, o *contract.Observation) time.Time {
		r := h.compute(at.Sub(h.now), o)
		c := conditionOf(h.t, r, conditions.TypeDegraded)
		if current := string(c.Status) + "/" + c.Reason + "/" + c.Message; current != last {
			last = current
			changes = append(changes, change{at.Sub(startedAt), string(c.Status) + "/" + c.Reason})
		}
		return r.Next
	}
	for at := startedAt; at.Before(startedAt.Add(length)); {
		for _, phase := range []struct {
			o    *contract.Observation
			take time.Duration
		}{{failure, badFor}, {healthy(), goodFor}} {
			end := at.Add(phase.take)
			for next := compute(at, phase.o); !next.IsZero() && next.Before(end); {
				next = compute(next, phase.o)
			}
			at = end
		}
	}
	return changes
}

// transitions counts the published changes of status.
func transitions(changes []change) int {
	n := 0
	last := "False"
	for _, x := range changes {
		status, _, _ := strings.Cut(x.condition, "/")
		if status != last {
			last = status
			n++
		}
	}
	return n
}

func TestFlappingFailureIsPublishedOnce(t *testing.T) {
	for name, tc := range map[string]struct {
		failure *contract.Observation
		within  time.Duration // until Degraded is True
	}{
		"a held failure":       {missingReplica, 10 * time.Minute},
		"an immediate failure": {crashing, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHistory(t)
			h.compute(0, healthy())
			changes := flap(h, tc.failure, 15*time.Second, 15*time.Second, 10*time.Minute)
			n := transitions(changes)
			if n < 1 || n > 3 {
				t.Errorf("%d transitions of Degraded in 10 minutes, want 1 to 3 (B9)", n)
			}
			var matured time.Duration = -1
			for _, x := range changes {
				if strings.HasPrefix(x.condition, "True") {
					matured = x.at
					break
				}
			}
			if matured < 0 || matured > tc.within {
				t.Errorf("Degraded is True after %s, want within %s", matured, tc.within)
			}
			t.Logf("B9: %d transitions of Degraded in 10 minutes, True after %s, %d changes of status or reason", n, matured, len(changes))
			if last := changes[len(changes)-1]; last.condition != "True/Flapping" {
				t.Errorf("got %s last, want True/Flapping", last.condition)
			}
		})
	}
}

// One failure causes at most three transitions in any ten minutes, at any frequency.
func TestFlappingIsLimitedToThreeTransitions(t *testing.T) {
	const length = time.Hour
	for _, failure := range []*contract.Observation{missingReplica, crashing} {
		for _, badFor := range []time.Duration{1, 15, 60, 119, 121, 301, 601} {
			for _, goodFor := range []time.Duration{7, 29, 31, 60, 121, 301, 599} {
				h := newHistory(t)
				h.compute(0, healthy())
				at := []time.Duration{}
				last := "False"
				for _, x := range flap(h, failure, badFor*time.Second, goodFor*time.Second, length) {
					if status, _, _ := strings.Cut(x.condition, "/"); status != last {
						last, at = status, append(at, x.at)
					}
				}
				for i := 3; i < len(at); i++ {
					if at[i]-at[i-3] < conditions.FlapWindow {
						t.Fatalf("bad %d s, good %d s: four transitions within %s: %v", badFor, goodFor, at[i]-at[i-3], at)
					}
				}
			}
		}
	}
}

// newFlapping returns the history of a flapping failure that is present.
func newFlapping(t *testing.T) *history {
	t.Helper()
	h := newHistory(t)
	h.compute(0, healthy())
	for range conditions.FlapCount + 1 {
		h.compute(0, crashing)
		h.compute(10*time.Second, healthy())
		h.now = h.now.Add(10 * time.Second)
	}
	h.compute(0, crashing)
	return h
}

func (h *history) degraded() metav1.Condition { return find(h.conditions, conditions.TypeDegraded) }

// Reason and message of a flapping failure stay fixed until the failure is continuous or
// stays cleared.
func TestFlappingFreezesDegradedUntilStable(t *testing.T) {
	t.Run("the failure clears", func(t *testing.T) {
		h := newFlapping(t)
		before := h.degraded()
		if before.Reason != conditions.ReasonFlapping || !strings.Contains(before.Message, "crash") {
			t.Fatalf("Degraded is %s, %q", before.Reason, before.Message)
		}
		r := h.compute(time.Second, healthy())
		if got := r.Next.Sub(h.now); got != conditions.FlapWindow {
			t.Errorf("next computation in %s, want %s", got, conditions.FlapWindow)
		}
		if len(r.Evidence) != 1 || !strings.Contains(r.Evidence[0], "CrashLoop recurs") {
			t.Errorf("evidence is %q", r.Evidence)
		}
		h.compute(conditions.FlapWindow-time.Nanosecond, healthy())
		if diff := cmp.Diff(before, h.degraded()); diff != "" {
			t.Errorf("Degraded was not frozen:\n%s", diff)
		}
		compare(t, statuses{Degraded: "False/AsExpected"}, h.compute(time.Nanosecond, healthy()))
	})
	t.Run("the failure persists", func(t *testing.T) {
		h := newFlapping(t)
		r := h.compute(time.Second, crashing)
		if got := r.Next.Sub(h.now); got != conditions.MissingReplicasHold-time.Second {
			t.Errorf("next computation in %s", got)
		}
		compare(t, statuses{Degraded: "True/CrashLoop"}, h.compute(conditions.MissingReplicasHold-time.Second, crashing))
		compare(t, statuses{Degraded: "True/Flapping"}, h.compute(time.Second, healthy()))
	})
	t.Run("the failure persists for the flapping window", func(t *testing.T) {
		h := newFlapping(t)
		h.compute(conditions.FlapWindow, crashing)
		compare(t, statuses{Degraded: "True/Recovering"}, h.compute(time.Second, healthy()))
	})
	t.Run("the spec is fixed", func(t *testing.T) {
		h := newFlapping(t)
		fixed := healthy(func(o *contract.Observation) { o.Object.Generation, o.ObservedGeneration = 3, 3 })
		generation3 := func(in *conditions.Input) { in.Generation = 3 }
		compare(t, statuses{Degraded: "True/Recovering"}, h.compute(time.Second, fixed, generation3))
		compare(t, statuses{Degraded: "False/AsExpected"}, h.compute(conditions.RecoveryHold, fixed, generation3))
	})
	t.Run("another writer continues without state", func(t *testing.T) {
		h := newFlapping(t)
		before := h.degraded()
		h.memory = conditions.State{}
		h.compute(time.Second, crashing)
		h.compute(time.Second, healthy())
		h.memory = conditions.State{}
		h.compute(time.Minute, healthy())
		if diff := cmp.Diff(before, h.degraded()); diff != "" {
			t.Errorf("Degraded follows the writer:\n%s", diff)
		}
	})
}

// Each of several different failures in sequence is published.
func TestDifferentFailuresAreNotFlapping(t *testing.T) {
	h := newHistory(t)
	h.compute(0, healthy())
	for _, class := range []contract.FailureClass{contract.FailureCrashLoop, contract.FailureImagePull, contract.FailureConfigError, contract.FailureCrashLoop} {
		o := healthy(units(unit("web", available(1), failing(class, 1))))
		compare(t, statuses{Degraded: "True/" + string(class)}, h.compute(time.Second, o))
		compare(t, statuses{Degraded: "True/Recovering"}, h.compute(time.Second, healthy()))
		compare(t, statuses{Degraded: "False/AsExpected"}, h.compute(conditions.RecoveryHold, healthy()))
	}
	t.Run("the same failure soon after a recovery is flapping", func(t *testing.T) {
		compare(t, statuses{Degraded: "True/Flapping"}, h.compute(time.Minute, crashing))
		compare(t, statuses{Degraded: "True/Flapping"}, h.compute(time.Second, healthy()))
		compare(t, statuses{Degraded: "True/Flapping"}, h.compute(conditions.FlapWindow-time.Second, healthy()))
		compare(t, statuses{Degraded: "False/AsExpected"}, h.compute(time.Second, healthy()))
	})
	t.Run("the same failure long after a recovery is not", func(t *testing.T) {
		compare(t, statuses{Degraded: "True/CrashLoop"}, h.compute(conditions.FlapWindow, crashing))
	})
}

// A State of an earlier release lacks fields and has the same meaning.
func TestStateOfEarlierReleaseIsCompatible(t *testing.T) {
	tests := map[string]struct {
		memory string // as an earlier release stored it, at 10:00:00
		o      *contract.Observation
		now    time.Duration
		want   string
		next   time.Duration
	}{
		"held":                          {`{"uid":"uid-1","settled":2,"badSince":"2026-11-21T10:00:00Z"}`, missingReplica, time.Minute, "False/WithinTolerance", time.Minute},
		"held long enough":              {`{"uid":"uid-1","settled":2,"badSince":"2026-11-21T10:00:00Z"}`, missingReplica, 2 * time.Minute, "True/InsufficientReplicas", 0},
		"degraded":                      {`{"uid":"uid-1","settled":2,"degraded":true}`, missingReplica, time.Minute, "True/InsufficientReplicas", 0},
		"recovering":                    {`{"uid":"uid-1","settled":2,"degraded":true,"goodSince":"2026-11-21T10:00:00Z"}`, healthy(), 10 * time.Second, "True/Recovering", 20 * time.Second},
		"recovered":                     {`{"uid":"uid-1","settled":2,"degraded":true,"goodSince":"2026-11-21T10:00:00Z"}`, healthy(), 30 * time.Second, "False/AsExpected", 0},
		"a failure during the recovery": {`{"uid":"uid-1","settled":2,"degraded":true,"goodSince":"2026-11-21T10:00:00Z"}`, crashing, 10 * time.Second, "True/CrashLoop", 0},
		"the failure cleared":           {`{"uid":"uid-1","settled":2,"badSince":"2026-11-21T10:00:00Z"}`, healthy(), time.Minute, "False/AsExpected", 0},
		"healthy":                       {`{"uid":"uid-1","settled":2}`, healthy(), time.Minute, "False/AsExpected", 0},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			h := newHistory(t)
			roundTrip(t, rawJSON(tc.memory), &h.memory)
			r := h.compute(tc.now, tc.o)
			var next time.Duration
			if !r.Next.IsZero() {
				next = r.Next.Sub(h.now)
			}
			if got := statusAndReason(t, r, conditions.TypeDegraded); got != tc.want || next != tc.next {
				t.Errorf("Degraded is %s, next computation in %s; want %s, %s", got, next, tc.want, tc.next)
			}
		})
	}
}

// The State has a bounded size.
func TestStateIsBounded(t *testing.T) {
	h := newHistory(t)
	h.compute(0, healthy())
	for i := range 1000 {
		o := []*contract.Observation{missingReplica, crashing, healthy()}[i%3]
		h.compute(time.Duration(i%50)*time.Second, o)
		if n := len(asJSON(t, h.memory)); n > 512 {
			t.Fatalf("after %d calls the State has %d bytes: %s", i, n, asJSON(t, h.memory))
		}
	}
}

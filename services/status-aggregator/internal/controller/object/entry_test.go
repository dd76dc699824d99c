package object

import (
	"testing"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

func TestSameEntry(t *testing.T) {
	base := contract.StatusEntry{
		Object: contract.Object{UID: "u", ResourceVersion: "1"}, Phase: "Running", UpdatedAt: now,
		Conditions: []contract.Condition{{Type: "Available", Status: "True"}},
		Provenance: &contract.Provenance{Epoch: 1, Seq: 1, StreamSequence: 7, ReceivedAt: now},
	}
	cases := map[string]struct {
		change func(*contract.StatusEntry)
		want   bool
	}{
		"nothing":                        {func(*contract.StatusEntry) {}, true},
		"the object's resource version":  {func(e *contract.StatusEntry) { e.Object.ResourceVersion = "2" }, true},
		"the time of writing":            {func(e *contract.StatusEntry) { e.UpdatedAt = at(1) }, true},
		"the opaque memory":              {func(e *contract.StatusEntry) { e.Memory = []byte("{}") }, true},
		"the place in the stream":        {func(e *contract.StatusEntry) { e.Provenance.StreamSequence = 8 }, true},
		"the time of receipt":            {func(e *contract.StatusEntry) { e.Provenance.ReceivedAt = at(1) }, true},
		"the version of the observation": {func(e *contract.StatusEntry) { e.Provenance.Seq = 2 }, false},
		"the phase":                      {func(e *contract.StatusEntry) { e.Phase = "Degraded" }, false},
		"the last transition":            {func(e *contract.StatusEntry) { e.LastTransitionSeq = 2 }, false},
		"a condition":                    {func(e *contract.StatusEntry) { e.Conditions[0].Status = "False" }, false},
		"the generation":                 {func(e *contract.StatusEntry) { e.Object.Generation = 2 }, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			other := base
			other.Conditions = append([]contract.Condition{}, base.Conditions...)
			provenance := *base.Provenance
			other.Provenance = &provenance
			tc.change(&other)
			got, err := sameEntry(base, other)
			if err != nil || got != tc.want {
				t.Errorf("same: %v, %v", got, err)
			}
		})
	}
}

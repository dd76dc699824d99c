package conditions_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/contract"
)

// FuzzCompute checks that Compute returns one valid result for any input from the bus or the bucket.
func FuzzCompute(f *testing.F) {
	for _, o := range []*contract.Observation{healthy(), crashing, missingReplica, healthy(withDependencies, stopping, paused, job(contract.JobFailed))} {
		raw, err := json.Marshal(o)
		if err != nil {
			f.Fatal(err)
		}
		for _, m := range memories {
			memory, err := json.Marshal(m)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(raw, memory, int64(2), int64(0))
		}
	}
	f.Fuzz(func(t *testing.T, observation, memory []byte, generation, seconds int64) {
		in := conditions.Input{Observation: &contract.Observation{}, Generation: generation, WithReady: true, Now: start.Add(time.Duration(seconds%1e9) * time.Second)}
		if json.Unmarshal(observation, in.Observation) != nil || json.Unmarshal(memory, &in.Memory) != nil {
			return
		}
		r := conditions.Compute(in)
		if len(r.Conditions) != 7 || len(r.Evidence) > conditions.MaxEvidence || (!r.Next.IsZero() && !r.Next.After(in.Now)) {
			t.Errorf("%+v", r)
		}
		for _, c := range r.Conditions {
			if !slices.Contains(conditions.Reasons(), c.Reason) || c.Message == "" || len(c.Message) > conditions.MaxMessageBytes ||
				c.ObservedGeneration < 0 || c.ObservedGeneration > max(0, generation) {
				t.Errorf("%+v", c)
			}
		}
		for _, problem := range idempotent(in, r) {
			t.Error(problem)
		}
		if _, err := json.Marshal(r.Memory); err != nil {
			t.Errorf("the State cannot be encoded: %v", err)
		}
	})
}

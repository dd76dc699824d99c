package conditions_test

import (
	"fmt"
	"time"

	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/contract"
)

// A pod is lost: Available changes at once, Degraded only if the pod stays unavailable.
func ExampleCompute() {
	web := contract.Unit{
		Name: "webServer", Kind: "Deployment", Role: contract.Serving, Routed: true, Present: true, Observed: true,
		Desired: 2, Current: 2, Updated: 2, Ready: 2, Available: 2,
	}
	o := contract.Observation{
		Object:             contract.Object{UID: "1f0c", Generation: 1},
		ObservedGeneration: 1,
		Reconcile:          contract.Reconcile{Outcome: contract.Succeeded},
		Units:              []contract.Unit{web},
	}
	now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	in := conditions.Input{Observation: &o, Generation: 1, Now: now}
	result := conditions.Compute(in)
	show(result)

	o.Units[0].Available = 1
	in.Previous, in.Memory = result.Conditions, result.Memory
	result = conditions.Compute(in)
	show(result)
	fmt.Println("next computation in", result.Next.Sub(now))

	in.Now, in.Previous, in.Memory = result.Next, result.Conditions, result.Memory
	show(conditions.Compute(in))
	// Output:
	// Available=True/AllComponentsReady Degraded=False/AsExpected
	// Available=False/InsufficientReplicas Degraded=False/WithinTolerance
	// next computation in 2m0s
	// Available=False/InsufficientReplicas Degraded=True/InsufficientReplicas
}

func show(r conditions.Result) {
	available, degraded := r.Conditions[0], r.Conditions[2]
	fmt.Printf("Available=%s/%s Degraded=%s/%s\n", available.Status, available.Reason, degraded.Status, degraded.Reason)
}

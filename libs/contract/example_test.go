package contract_test

import (
	"fmt"
	"time"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

// A program outside this repository reads a lifecycle event.
func ExampleDecode() {
	message := []byte(`{
		"specversion": "1.0", "id": "1f0c.Degraded.17", "type": "dev.flotilla.lifecycle.v1",
		"source": "/clusters/prod/observers/status-aggregator", "subject": "team-a/main", "time": "2026-11-21T10:00:00Z",
		"datacontenttype": "application/json",
		"data": {
			"object": {"group": "superset.apache.org", "version": "v1alpha1", "kind": "Superset", "namespace": "team-a", "name": "main", "uid": "1f0c", "generation": 3},
			"event": "degraded",
			"condition": {"type": "Degraded", "after": {"type": "Degraded", "status": "True", "reason": "CrashLoop", "lastTransitionTime": "2026-11-21T10:00:00Z"}}
		}
	}`)
	_, event, err := contract.Decode[contract.Lifecycle](message)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(event.Object.Kind, event.Object.Name, event.Event, event.Condition.After.Reason)
	// Output: Superset main degraded CrashLoop
}

// An operator publishes what it observes.
func ExampleEncode() {
	gvk, _ := contract.Lookup(contract.Superset)
	message, err := contract.Encode(contract.Event{
		ID:     "1f0c.superset-operator.1763719200000.1",
		Source: contract.Source("prod", "superset-operator"),
		Time:   time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC),
	}, contract.Observation{
		Object:    contract.Object{GroupVersionKind: gvk, Namespace: "team-a", Name: "main", UID: "1f0c", Generation: 3},
		Observer:  contract.Observer{Name: "superset-operator", Instance: "pod-0"},
		Epoch:     1763719200000,
		Seq:       1,
		Reconcile: contract.Reconcile{Outcome: contract.Succeeded},
	})
	fmt.Println(len(message) < contract.MaxMessageBytes, err)
	// Output: true <nil>
}

func ExampleLifecycleSubject() {
	main := contract.Ref{Cluster: "prod", Namespace: "team-a", Kind: contract.Superset, Name: "sales.eu"}
	fmt.Println(contract.LifecycleSubject(main, contract.EventDegraded))
	fmt.Println(contract.LifecycleFilter(main))
	// Output:
	// flotilla.lifecycle.v1.prod.team-a.superset.sales_eu.degraded <nil>
	// flotilla.lifecycle.v1.prod.team-a.superset.sales_eu.* <nil>
}

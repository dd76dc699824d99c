package contract_test

import (
	"time"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

var at = time.Date(2026, 11, 21, 10, 0, 0, 123_000_000, time.UTC)

func object(kind contract.Kind, name string) contract.Object {
	gvk, _ := contract.Lookup(kind)
	return contract.Object{
		GroupVersionKind: gvk, Namespace: "team-a", Name: name,
		UID: "1f0c9a52-4f55-4b1a-9c0e-0a5f6f4b7f01", Generation: 3, ResourceVersion: "4711",
	}
}

func condition(status, reason string) contract.Condition {
	return contract.Condition{
		Type: "Available", Status: status, Reason: reason, Message: "text", ObservedGeneration: 3, LastTransitionTime: at.Truncate(time.Second),
	}
}

// samples returns a full and a bare message of each type.
func samples() map[string]func() ([]byte, error) {
	observer := contract.Observer{Name: "superset-operator", Instance: "superset-operator-7d9c-x2x4v", Version: "v0.1.0"}
	since, least, unsent := at.Add(-time.Hour), int32(1), 2
	before := condition("True", "AllComponentsReady")
	return map[string]func() ([]byte, error){
		"observation-full": sample("1f0c.superset-operator.1763719200000.42", contract.Observation{
			Object: object(contract.Superset, "main"), Observer: observer, Epoch: 1763719200000, Seq: 42, ObservedAt: at,
			ValidForSeconds: 30, ObservedGeneration: 3, Deleting: true, Phase: "Running", DeployedVersion: "4.1.1",
			Reconcile: contract.Reconcile{Outcome: contract.Failed, Reason: "Conflict", Message: "try again", Since: &since, Terminal: true},
			Intent:    contract.Intent{Paused: true, PausedBy: "spec.suspend", Stopped: true, StoppedBy: "annotation operator-command"},
			Units: []contract.Unit{{
				Name: "webServer", Kind: "Deployment", Role: contract.Serving, Routed: true, Present: true, Observed: true,
				Desired: 2, Current: 3, Updated: 1, Ready: 2, Available: 2, Terminating: 1, MinAvailable: &least, Stalled: true,
				Failures: []contract.Failure{{Class: contract.FailureCrashLoop, Count: 1, Examples: []string{"main-web-1"}, Message: "exit 1"}},
			}},
			Jobs:            []contract.Job{{Name: "migrate", State: contract.JobFailed, Message: "exit 1"}},
			Dependencies:    []contract.Dependency{{Kind: "FireboltInstance", Name: "i", Ready: false, Message: "starting"}},
			UpgradeBlockers: []string{"a disruption budget allows no disruption"},
			Coalesced:       7,
		}),
		"observation-bare": sample("1f0c.superset-operator.1.1", contract.Observation{
			Object:   contract.Object{GroupVersionKind: object(contract.Superset, "").GroupVersionKind, Namespace: "n", Name: "a", UID: "u"},
			Observer: contract.Observer{Name: "superset-operator"},
			Epoch:    1, Seq: 1,
			Reconcile: contract.Reconcile{Outcome: contract.Succeeded},
		}),
		"heartbeat-full": sample("superset-operator.x.1763719200000.beat.1", contract.Heartbeat{
			Cluster: "prod", Observer: observer, Epoch: 1763719200000, IntervalSeconds: 10, SentAt: at,
		}),
		"heartbeat-holding": sample("superset-operator.x.1763719200000.beat.2", contract.Heartbeat{
			Cluster: "prod", Observer: observer, Epoch: 1763719200000, IntervalSeconds: 10, SentAt: at, Unacknowledged: &unsent,
		}),
		"lifecycle-condition": sample("1f0c.Available.17", contract.Lifecycle{
			Object: object(contract.Superset, "main"), Event: contract.EventUnavailable,
			Condition: &contract.ConditionChange{Type: "Available", Before: &before, After: condition("False", "InsufficientReplicas")},
		}),
		"lifecycle-phase": sample("1f0c.5", contract.Lifecycle{
			Object: object(contract.FireboltEngine, "e"), Event: contract.EventPhase, Gap: true, Message: "2 changes are missing",
			Phase: &contract.PhaseChange{Seq: 5, Time: at, From: "creating", To: "switching", Reason: "Ready", Message: "text"},
		}),
		"lifecycle-snapshot": sample("1f0c.snapshot.1", contract.Lifecycle{
			Object: object(contract.Superset, "main"), Event: contract.EventSnapshot, Conditions: []contract.Condition{before},
		}),
		"lifecycle-deleted": sample("1f0c.deleted", contract.Lifecycle{Object: object(contract.Superset, "main"), Event: contract.EventDeleted}),
		"change-full": sample("change.9", contract.Change{
			Object: object("model", "m"), Operation: contract.ChangeRestored, OutboxID: 9, CommittedAt: at,
		}),
	}
}

func sample[P contract.Payload](id string, data P) func() ([]byte, error) {
	return func() ([]byte, error) {
		return contract.Encode(contract.Event{
			ID: id, Source: contract.Source("prod", "superset-operator"), Subject: "team-a/main", Time: at,
			Sequence: contract.Sequence(1763719200000, 42),
		}, data)
	}
}

package observation

import (
	"time"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/kube/workload"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/status"
)

// ForInstance returns the observation of an instance; failure is the error of the reconcile.
func ForInstance(p status.Instance, failure error, now time.Time) contract.Observation {
	i := p.Object
	o := contract.Observation{
		Object:             workload.Object(i, v1alpha1.GroupVersion.WithKind("FireboltInstance")),
		ObservedGeneration: i.Status.ObservedGeneration,
		Deleting:           i.DeletionTimestamp != nil,
		Phase:              string(i.Status.Phase),
		DeployedVersion:    i.Status.DeployedVersion,
		Reconcile:          instanceReconcile(p, failure),
		Intent:             status.Intent(i),
	}
	metadata := componentUnit("metadata", p.Metadata)
	if i.Spec.Metadata.Postgres != nil {
		o.Units = []contract.Unit{metadata, componentUnit("gateway", p.Gateway)}
		return o
	}
	database := databaseUnit(p, now)
	if deadline := p.Metadata.Deadline(); lacksReplicas(metadata) && lacksReplicas(database) && !deadline.IsZero() && !now.Before(deadline) {
		metadata.Stalled = true // it waits for the database, which has no deadline of its own
	}
	o.Units = []contract.Unit{metadata, database, componentUnit("gateway", p.Gateway)}
	return o
}

// databaseUnit returns the unit of the operator's own PostgreSQL.
func databaseUnit(p status.Instance, now time.Time) contract.Unit {
	base := contract.Unit{Name: "postgres", Kind: "StatefulSet", Role: contract.Serving, Routed: true, Desired: p.DatabaseReplicas}
	u := workload.StatefulSet(base, p.Database, workload.Inputs{Pods: p.DatabasePods, Now: now})
	if p.DatabaseFailure != "" {
		u.Failures = append(u.Failures, contract.Failure{Class: contract.FailureCreateFailed, Count: 1, Message: p.DatabaseFailure})
	}
	return u
}

func lacksReplicas(u contract.Unit) bool { return u.Available < u.Desired }

func componentUnit(name string, c status.Component) contract.Unit {
	base := contract.Unit{Name: name, Kind: "Deployment", Role: contract.Serving, Routed: true, Desired: c.Replicas}
	return workload.Deployment(base, c.Deployment, workload.Inputs{AppliedGeneration: c.Generation})
}

// instanceReconcile returns the first failure. A deletion that engines block is not a failure.
func instanceReconcile(p status.Instance, failure error) contract.Reconcile {
	for _, t := range []*status.Failure{p.Failure, p.Metadata.Failure, p.Gateway.Failure} {
		if t != nil && t.Reason != v1alpha1.ReasonDeletionBlocked {
			// No retry restores a missing Secret that the spec names,
			// although the phase is not Failed.
			terminal := t.Terminal || t.Reason == v1alpha1.ReasonPostgresSecretPreflightFailed
			return contract.Reconcile{Outcome: contract.Failed, Terminal: terminal, Reason: t.Reason, Message: contract.Text(t.Message)}
		}
	}
	return outcome(failure)
}

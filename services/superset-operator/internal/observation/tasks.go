package observation

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/kube/workload"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/snapshot"
)

// cannotStart lists the failures that keep a task's pod from starting. Failures of a started pod are excluded: another
// attempt may follow.
var cannotStart = []contract.FailureClass{contract.FailureImagePull, contract.FailureConfigError, contract.FailureUnschedulable}

// startFailures returns a unit for each task whose pod cannot start, so that conditions show it before the attempt's
// deadline. The unit has the role Incoming, so it does not reduce the serving capacity. The task already counts its
// pod.
func startFailures(in Input) []contract.Unit {
	if in.Snapshot == nil {
		return nil
	}
	var out []contract.Unit
	for _, kind := range resolve.TaskKinds() {
		pods := currentPods(in.Snapshot, kind.Slug)
		if message := in.Snapshot.CreateFailures[kind.Slug]; message != "" {
			out = append(out, startFailure(kind.Slug, contract.Failure{Class: contract.FailureCreateFailed, Count: 1, Message: message}))
			continue
		}
		failures := slices.DeleteFunc(workload.Failures(pods, in.Now), func(f contract.Failure) bool {
			return !slices.Contains(cannotStart, f.Class)
		})
		if len(failures) > 0 {
			out = append(out, startFailure(kind.Slug, failures...))
		}
	}
	return out
}

func startFailure(slug string, failures ...contract.Failure) contract.Unit {
	return contract.Unit{
		Name: slug, Kind: "Job", Role: contract.Incoming, Present: true, Observed: true, Desired: 1, Failures: failures,
	}
}

// currentPods returns the pods of the task's Job, if it is not terminating.
func currentPods(s *snapshot.Snapshot, slug string) []corev1.Pod {
	job := s.Jobs[slug]
	if job == nil || !job.DeletionTimestamp.IsZero() {
		return nil
	}
	return snapshot.PodsOf(job, s.TaskPods[slug])
}

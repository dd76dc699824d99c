package report

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/kube/workload"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/snapshot"
)

// cannotStart are the troubles that keep a task's pod from starting. How a pod fails that has started is the task's own
// affair: another attempt may follow.
var cannotStart = []contract.FailureClass{contract.FailureImagePull, contract.FailureConfigError, contract.FailureUnschedulable}

// stuckTasks has a unit for each task whose pod cannot start, so that nobody has to wait for the attempt's deadline to
// hear of it. The unit is coming in: it takes nothing away from what serves. Its pod is counted as the task's already.
func stuckTasks(in Input) []contract.Unit {
	if in.Snapshot == nil {
		return nil
	}
	var out []contract.Unit
	for _, kind := range resolve.TaskKinds() {
		pods := livePods(in.Snapshot, kind.Word)
		if answer := in.Snapshot.CreateFailures[kind.Word]; answer != "" {
			out = append(out, stuckTask(kind.Word, contract.Failure{Class: contract.FailureCreateFailed, Count: 1, Message: answer}))
			continue
		}
		if snapshot.Stuck(pods) == "" {
			continue
		}
		failures := slices.DeleteFunc(workload.Failures(pods, in.Now), func(f contract.Failure) bool {
			return !slices.Contains(cannotStart, f.Class)
		})
		if len(failures) > 0 {
			out = append(out, stuckTask(kind.Word, failures...))
		}
	}
	return out
}

func stuckTask(word string, failures ...contract.Failure) contract.Unit {
	return contract.Unit{
		Name: word, Kind: "Job", Role: contract.Incoming, Present: true, Observed: true, Desired: 1, Failures: failures,
	}
}

// livePods are those of the task's Job, if it is not on its way out.
func livePods(s *snapshot.Snapshot, word string) []corev1.Pod {
	job := s.Jobs[word]
	if job == nil || !job.DeletionTimestamp.IsZero() {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(s.TaskPods[word]), func(p corev1.Pod) bool {
		owner := metav1.GetControllerOf(&p)
		return owner == nil || owner.UID != job.UID
	})
}

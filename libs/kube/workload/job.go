package workload

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

// Job returns the state of the task called name; nil, suspended and not yet started
// jobs are pending. A job that will fail but still has pods is running.
func Job(name string, j *batchv1.Job) contract.Job {
	out := contract.Job{Name: name, State: contract.JobPending}
	if j == nil {
		return out
	}
	for _, c := range j.Status.Conditions {
		if c.Status != corev1.ConditionTrue {
			continue
		}
		switch c.Type {
		case batchv1.JobComplete:
			return contract.Job{Name: name, State: contract.JobComplete}
		case batchv1.JobFailed:
			return contract.Job{Name: name, State: contract.JobFailed, Message: clean(c.Reason + ": " + c.Message)}
		default: // the Job has not ended
		}
	}
	switch {
	case ptr.Deref(j.Spec.Suspend, false):
		out.Message = "suspended"
	case j.Status.StartTime != nil || j.Status.Active > 0:
		out.State = contract.JobRunning
		if j.Status.Failed > 0 {
			out.Message = fmt.Sprintf("failed attempts: %d", j.Status.Failed)
		}
	}
	return out
}

package observe

import (
	"slices"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/lifecycle"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/snapshot"
)

// Jobs converts task Jobs and their pods into the input of the lifecycle decision.
func Jobs(s *snapshot.Snapshot) map[string]lifecycle.Job {
	out := map[string]lifecycle.Job{}
	for slug, j := range s.Jobs {
		out[slug] = job(j, snapshot.PodsOf(j, s.TaskPods[slug]))
		if found := out[slug]; found.State == lifecycle.JobActive && found.StartFailure == "" {
			found.StartFailure = snapshot.CreateFailureMessage(s.CreateFailures[slug])
			out[slug] = found
		}
	}
	return out
}

// Podless lists the Jobs by task name that should have a pod and have none.
func Podless(s *snapshot.Snapshot) map[string]*batchv1.Job {
	out := map[string]*batchv1.Job{}
	for slug, j := range s.Jobs {
		if j.DeletionTimestamp.IsZero() && job(j, nil).State == lifecycle.JobActive && len(snapshot.PodsOf(j, s.TaskPods[slug])) == 0 {
			out[slug] = j
		}
	}
	return out
}

// Complete reports whether a Job has succeeded.
func Complete(j *batchv1.Job) bool { return job(j, nil).State == lifecycle.JobSucceeded }

// FormerPods lists the pods of tasks that may run although their Job no longer exists, by name: a Job that is deleted in
// the background does not wait for its pod.
func FormerPods(s *snapshot.Snapshot) []string {
	var out []string
	for _, pods := range s.TaskPods {
		for i := range pods {
			if IsFormer(&pods[i], s.Jobs) {
				out = append(out, pods[i].Name)
			}
		}
	}
	slices.Sort(out)
	return out
}

// IsFormer reports whether a pod is one of a task, may run, and belongs to none of the Jobs.
func IsFormer(pod *corev1.Pod, jobs map[string]*batchv1.Job) bool {
	if pod.Labels[v1alpha1.LabelComponent] != v1alpha1.TaskComponentValue || snapshot.Ended(pod) {
		return false
	}
	job := jobs[pod.Labels[v1alpha1.LabelTask]]
	return job == nil || !metav1.IsControlledBy(pod, job)
}

func job(j *batchv1.Job, pods []corev1.Pod) lifecycle.Job {
	out := lifecycle.Job{
		UID:      j.UID,
		Checksum: j.Annotations[v1alpha1.AnnotationConfigChecksum],
		PodHash:  j.Annotations[v1alpha1.AnnotationPodSpecHash],
		Deleting: !j.DeletionTimestamp.IsZero(),
		Image:    snapshot.MainImage(&j.Spec.Template.Spec),
	}
	if n, err := strconv.ParseInt(j.Annotations[v1alpha1.AnnotationAttempt], 10, 32); err == nil {
		out.Attempt = int32(n)
	}
	for i := range j.Status.Conditions {
		c := &j.Status.Conditions[i]
		if c.Status != corev1.ConditionTrue {
			continue
		}
		switch c.Type {
		case batchv1.JobComplete:
			out.State, out.FinishedAt = lifecycle.JobSucceeded, c.LastTransitionTime.DeepCopy()
			out.StoredSecrets, out.ResultPending = storedSecrets(j.Labels[v1alpha1.LabelTask], pods)
		case batchv1.JobFailed:
			out.State, out.FinishedAt = lifecycle.JobFailed, c.LastTransitionTime.DeepCopy()
			end := readTermination(pods)
			out.ExitCode, out.LogTail, out.Message = end.code, end.tail, end.message(c)
		default: // the Job has not ended
		}
	}
	if out.State != lifecycle.JobSucceeded {
		endWithMain(&out, j, pods)
	}
	if out.State == lifecycle.JobActive {
		out.StartFailure = snapshot.StartFailure(pods)
		out.Podless = !slices.ContainsFunc(pods, func(p corev1.Pod) bool { return p.DeletionTimestamp.IsZero() })
	}
	return out
}

// endWithMain ends a Job with its main container: the Job itself waits for all containers, and fails if a sidecar does. A
// sidecar that an admission webhook injects may never end. A container that the Job itself ended, at its deadline, does not
// count.
func endWithMain(out *lifecycle.Job, j *batchv1.Job, pods []corev1.Pod) {
	deadline := deadlineExceeded(j)
	for i := range pods {
		end := snapshot.MainEnd(&pods[i])
		switch {
		case end == nil, deadline != nil && !end.FinishedAt.Before(deadline):
			continue
		case end.ExitCode != 0 && out.State == lifecycle.JobFailed:
			return // it has the cause
		}
		out.FinishedAt = end.FinishedAt.DeepCopy()
		if end.ExitCode == 0 {
			out.State = lifecycle.JobSucceeded
			out.StoredSecrets, out.ResultPending = storedSecrets(j.Labels[v1alpha1.LabelTask], pods[i:i+1])
			return
		}
		out.State = lifecycle.JobFailed
		failed := readTermination(pods[i : i+1])
		out.ExitCode, out.LogTail = failed.code, failed.tail
		out.Message = failed.message(&batchv1.JobCondition{Reason: batchv1.JobReasonBackoffLimitExceeded})
		return
	}
}

// deadlineExceeded returns when the Job exceeded its deadline; nil if it did not.
func deadlineExceeded(j *batchv1.Job) (at *metav1.Time) {
	for i := range j.Status.Conditions {
		c := &j.Status.Conditions[i]
		if c.Status == corev1.ConditionTrue && c.Reason == batchv1.JobReasonDeadlineExceeded && (at == nil || c.LastTransitionTime.Before(at)) {
			at = &c.LastTransitionTime // FailureTarget precedes Failed
		}
	}
	return at
}

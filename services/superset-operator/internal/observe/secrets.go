package observe

import (
	"bytes"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/names"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
)

// storedSecrets reads the counts of a succeeded task from the termination message of its pod. pending reports whether a
// pod of the task is not yet observed as terminated. A message without counts, such as that of a user's command, counts
// as none.
func storedSecrets(task string, pods []corev1.Pod) (counts *v1alpha1.StoredSecretsStatus, pending bool) {
	if task != resolve.Preflight.Slug && task != resolve.Rotate.Slug {
		return nil, false
	}
	for i := range pods {
		for _, c := range pods[i].Status.ContainerStatuses {
			if c.Name != names.MainContainer || c.State.Terminated == nil {
				continue
			}
			if c.State.Terminated.ExitCode == 0 {
				return parseSecrets(c.State.Terminated.Message), false
			}
		}
	}
	return nil, len(pods) > 0
}

func parseSecrets(message string) *v1alpha1.StoredSecretsStatus {
	decoder := json.NewDecoder(bytes.NewBufferString(message))
	decoder.DisallowUnknownFields()
	counts := &v1alpha1.StoredSecretsStatus{}
	if err := decoder.Decode(counts); err != nil {
		return nil
	}
	return counts
}

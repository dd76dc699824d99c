package render

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/component"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
)

const (
	// settle is how many seconds a web server goes on before it is told to end, while nodes learn that it is leaving.
	settle = 2
	// margin is what is left of the grace when everything took as long as it may.
	margin = 8
	// workerGrace is how many seconds a worker has for the tasks that it began: the limit of a thumbnail or a report.
	// Queries may take hours, and are begun again by their users.
	workerGrace = 300
)

// ending is what happens before the component is told to end; nil for nothing, and where the grace, as the user set it,
// has no room for it.
func ending(c *resolve.Component) *corev1.Lifecycle {
	if c.Descriptor.Name != component.WebServerName {
		return nil
	}
	if user := c.Pod.TerminationGracePeriodSeconds; user != nil && *user <= settle {
		return nil
	}
	return &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: settle}}}
}

// grace is how long the component may take to end, where the user names nothing; nil for Kubernetes' default.
func grace(c *resolve.Component) *int64 {
	switch c.Descriptor.Name {
	case component.WebServerName:
		request := int32(60)
		if c.Gunicorn != nil {
			request = c.Gunicorn.Timeout
		}
		return ptr(int64(settle + request + margin))
	case component.CeleryWorkerName:
		return ptr(int64(workerGrace))
	}
	return nil
}

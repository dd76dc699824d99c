package render

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/component"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
)

const (
	// settle is how many seconds a web server keeps serving before SIGTERM, while nodes update their routes to it.
	settle = 2
	// margin is how many seconds of the grace period are left when all steps took their maximum.
	margin = 8
	// workerGrace is how many seconds a worker has for its running tasks: the limit of a thumbnail or a report.
	// Queries may take hours; their users start them again.
	workerGrace = 300
)

// ending returns the preStop hook of the component; nil if there is none, or if the grace period that the user set is too
// short for it.
func ending(c *resolve.Component) *corev1.Lifecycle {
	if c.Descriptor.Name != component.WebServerName {
		return nil
	}
	if user := c.Pod.TerminationGracePeriodSeconds; user != nil && *user <= settle {
		return nil
	}
	return &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: settle}}}
}

// grace returns the default grace period of the component, in seconds; nil for Kubernetes' default.
func grace(c *resolve.Component) *int64 {
	switch c.Descriptor.Name {
	case component.WebServerName:
		request := int32(60)
		if c.Gunicorn != nil {
			request = c.Gunicorn.Timeout
		}
		return new(int64(settle + request + margin))
	case component.CeleryWorkerName:
		return new(int64(workerGrace))
	}
	return nil
}

package render

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/component"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/names"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
)

// container holds what differs between the main containers of workloads.
type container struct {
	command []string
	args    []string
	env     []corev1.EnvVar
	ports   []corev1.ContainerPort
	probes  probes
	// lifecycle and grace are the defaults if the user sets none.
	lifecycle *corev1.Lifecycle
	grace     *int64
	files     *files
}

// podSpec renders the pod of a workload.
func podSpec(w *resolve.Workload, c container) corev1.PodSpec {
	pod := &w.Pod
	main := mainContainer(w, c)
	spec := corev1.PodSpec{
		ServiceAccountName:            w.ServiceAccount,
		ImagePullSecrets:              w.PullSecrets,
		Affinity:                      pod.Affinity,
		Tolerations:                   pod.Tolerations,
		NodeSelector:                  pod.NodeSelector,
		TopologySpreadConstraints:     pod.TopologySpreadConstraints,
		HostAliases:                   pod.HostAliases,
		SecurityContext:               pod.PodSecurityContext,
		TerminationGracePeriodSeconds: orDefault(pod.TerminationGracePeriodSeconds, c.grace),
		DNSConfig:                     pod.DNSConfig,
		RuntimeClassName:              pod.RuntimeClassName,
		ShareProcessNamespace:         pod.ShareProcessNamespace,
		EnableServiceLinks:            pod.EnableServiceLinks,
		Resources:                     pod.Resources,
		InitContainers:                others(pod.InitContainers),
		Containers:                    append([]corev1.Container{main}, others(pod.Sidecars)...),
		Volumes:                       resolve.MergeVolumes(pod.Volumes, c.files.volumes()),
	}
	if pod.PriorityClassName != nil {
		spec.PriorityClassName = *pod.PriorityClassName
	}
	if pod.DNSPolicy != nil {
		spec.DNSPolicy = *pod.DNSPolicy
	}
	return spec
}

func mainContainer(w *resolve.Workload, c container) corev1.Container {
	t := w.Pod.Container
	main := corev1.Container{
		Name:            names.MainContainer,
		Image:           w.Image,
		ImagePullPolicy: w.PullPolicy,
		Command:         c.command,
		Args:            c.args,
		Env:             resolve.MergeEnv(t.Env, c.env),
		EnvFrom:         t.EnvFrom,
		Ports:           c.ports,
		VolumeMounts:    resolve.MergeMounts(t.VolumeMounts, c.files.mounts()),
		SecurityContext: t.SecurityContext,
		LivenessProbe:   c.probes.liveness,
		ReadinessProbe:  c.probes.readiness,
		StartupProbe:    c.probes.startup,
		Lifecycle:       orDefault(t.Lifecycle, c.lifecycle),
	}
	if t.Resources != nil {
		main.Resources = *t.Resources
	}
	return main
}

// others omits containers that have the main container's name.
func others(list []corev1.Container) []corev1.Container {
	return slices.DeleteFunc(slices.Clone(list), func(c corev1.Container) bool { return c.Name == names.MainContainer })
}

const (
	// preStopSeconds is how long a web server keeps serving before SIGTERM, while nodes update their routes to it.
	preStopSeconds = 2
	// margin is the rest of the grace period, in seconds, if all steps take their maximum.
	margin = 8
	// workerGrace is how many seconds a worker has for its running tasks: the limit of a thumbnail or a report.
	// Queries may take hours, so users have to repeat interrupted ones.
	workerGrace = 300
)

// preStopHook returns the preStop hook of the component; nil if there is none, or if the grace period that the user set
// is too short for it.
func preStopHook(c *resolve.Component) *corev1.Lifecycle {
	if c.Descriptor.Name != component.WebServerName {
		return nil
	}
	if user := c.Pod.TerminationGracePeriodSeconds; user != nil && *user <= preStopSeconds {
		return nil
	}
	return &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: preStopSeconds}}}
}

// grace returns the default grace period of the component, in seconds; nil for Kubernetes' default.
func grace(c *resolve.Component) *int64 {
	switch c.Descriptor.Name {
	case component.WebServerName:
		request := int32(60)
		if c.Gunicorn != nil {
			request = c.Gunicorn.Timeout
		}
		return new(int64(preStopSeconds + request + margin))
	case component.CeleryWorkerName:
		return new(int64(workerGrace))
	}
	return nil
}

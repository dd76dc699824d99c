package render

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

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
		TerminationGracePeriodSeconds: either(pod.TerminationGracePeriodSeconds, c.grace),
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
		Lifecycle:       either(t.Lifecycle, c.lifecycle),
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

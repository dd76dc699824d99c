package render

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/naming"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
)

const configVolume = "superset-config"

// container holds what differs between the main containers of workloads.
type container struct {
	command []string
	args    []string
	env     []corev1.EnvVar
	ports   []corev1.ContainerPort
	probes  probes
}

type probes struct{ liveness, readiness, startup *corev1.Probe }

// podSpec renders the pod of a Python workload.
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
		TerminationGracePeriodSeconds: pod.TerminationGracePeriodSeconds,
		DNSConfig:                     pod.DNSConfig,
		RuntimeClassName:              pod.RuntimeClassName,
		ShareProcessNamespace:         pod.ShareProcessNamespace,
		EnableServiceLinks:            pod.EnableServiceLinks,
		Resources:                     pod.Resources,
		InitContainers:                pod.InitContainers,
		Containers:                    append([]corev1.Container{main}, sidecars(pod.Sidecars)...),
		Volumes:                       resolve.MergeVolumes(pod.Volumes, []corev1.Volume{volume(w)}),
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
		Name:            naming.MainContainer,
		Image:           w.Image,
		ImagePullPolicy: w.PullPolicy,
		Command:         c.command,
		Args:            c.args,
		Env:             resolve.MergeEnv(t.Env, c.env),
		EnvFrom:         t.EnvFrom,
		Ports:           c.ports,
		VolumeMounts: resolve.MergeMounts(t.VolumeMounts, []corev1.VolumeMount{
			{Name: configVolume, MountPath: configFolder, ReadOnly: true},
		}),
		SecurityContext: t.SecurityContext,
		LivenessProbe:   c.probes.liveness,
		ReadinessProbe:  c.probes.readiness,
		StartupProbe:    c.probes.startup,
		Lifecycle:       t.Lifecycle,
	}
	if t.Resources != nil {
		main.Resources = *t.Resources
	}
	return main
}

// sidecars leaves out containers that bear the main container's name.
func sidecars(list []corev1.Container) []corev1.Container {
	return slices.DeleteFunc(slices.Clone(list), func(c corev1.Container) bool { return c.Name == naming.MainContainer })
}

func volume(w *resolve.Workload) corev1.Volume {
	return corev1.Volume{Name: configVolume, VolumeSource: corev1.VolumeSource{
		ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: w.ConfigName}},
	}}
}

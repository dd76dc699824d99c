package resolve

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
)

// podTemplate merges two templates; over wins. Neither is changed, both may be nil.
func podTemplate(base, over *v1alpha1.PodTemplate) v1alpha1.PodTemplate {
	b, o := orZero(base), orZero(over)
	return v1alpha1.PodTemplate{
		Annotations:                   userAnnotations(b.Annotations, o.Annotations),
		Labels:                        userLabels(b.Labels, o.Labels),
		Affinity:                      first(o.Affinity, b.Affinity),
		Tolerations:                   slices.Concat(b.Tolerations, o.Tolerations),
		NodeSelector:                  mergeMaps(b.NodeSelector, o.NodeSelector),
		TopologySpreadConstraints:     mergeKeyed(spreadKey, b.TopologySpreadConstraints, o.TopologySpreadConstraints),
		HostAliases:                   mergeKeyed(func(h corev1.HostAlias) string { return h.IP }, b.HostAliases, o.HostAliases),
		PodSecurityContext:            first(o.PodSecurityContext, b.PodSecurityContext),
		PriorityClassName:             first(o.PriorityClassName, b.PriorityClassName),
		Volumes:                       mergeKeyed(func(v corev1.Volume) string { return v.Name }, b.Volumes, o.Volumes),
		Sidecars:                      mergeKeyed(containerName, b.Sidecars, o.Sidecars),
		InitContainers:                mergeKeyed(containerName, b.InitContainers, o.InitContainers),
		TerminationGracePeriodSeconds: first(o.TerminationGracePeriodSeconds, b.TerminationGracePeriodSeconds),
		DNSPolicy:                     first(o.DNSPolicy, b.DNSPolicy),
		DNSConfig:                     first(o.DNSConfig, b.DNSConfig),
		RuntimeClassName:              first(o.RuntimeClassName, b.RuntimeClassName),
		ShareProcessNamespace:         first(o.ShareProcessNamespace, b.ShareProcessNamespace),
		EnableServiceLinks:            first(o.EnableServiceLinks, b.EnableServiceLinks),
		Resources:                     first(o.Resources, b.Resources),
		Container:                     containerTemplate(b.Container, o.Container),
	}
}

// containerTemplate merges two templates; over wins. Command and args come from over only, since one command cannot
// fit all components.
func containerTemplate(base, over *v1alpha1.ContainerTemplate) *v1alpha1.ContainerTemplate {
	b, o := orZero(base), orZero(over)
	return &v1alpha1.ContainerTemplate{
		Resources:       first(o.Resources, b.Resources),
		Env:             MergeEnv(b.Env, o.Env),
		EnvFrom:         slices.Concat(b.EnvFrom, o.EnvFrom),
		VolumeMounts:    MergeMounts(b.VolumeMounts, o.VolumeMounts),
		Ports:           mergePorts(b.Ports, o.Ports),
		SecurityContext: first(o.SecurityContext, b.SecurityContext),
		Command:         slices.Clone(o.Command),
		Args:            slices.Clone(o.Args),
		LivenessProbe:   first(o.LivenessProbe, b.LivenessProbe),
		ReadinessProbe:  first(o.ReadinessProbe, b.ReadinessProbe),
		StartupProbe:    first(o.StartupProbe, b.StartupProbe),
		Lifecycle:       first(o.Lifecycle, b.Lifecycle),
	}
}

func deploymentTemplate(base, over *v1alpha1.DeploymentTemplate) v1alpha1.DeploymentTemplate {
	b, o := orZero(base), orZero(over)
	return v1alpha1.DeploymentTemplate{
		RevisionHistoryLimit:    first(o.RevisionHistoryLimit, b.RevisionHistoryLimit),
		MinReadySeconds:         first(o.MinReadySeconds, b.MinReadySeconds),
		ProgressDeadlineSeconds: first(o.ProgressDeadlineSeconds, b.ProgressDeadlineSeconds),
		Strategy:                first(o.Strategy, b.Strategy),
		Labels:                  userLabels(b.Labels, o.Labels),
		Annotations:             userAnnotations(b.Annotations, o.Annotations),
	}
}

// MergeEnv merges lists of variables by name; later ones replace earlier ones in place.
func MergeEnv(lists ...[]corev1.EnvVar) []corev1.EnvVar {
	return mergeKeyed(func(e corev1.EnvVar) string { return e.Name }, lists...)
}

// MergeMounts merges lists of mounts by path; later ones replace earlier ones in place.
func MergeMounts(lists ...[]corev1.VolumeMount) []corev1.VolumeMount {
	return mergeKeyed(func(m corev1.VolumeMount) string { return m.MountPath }, lists...)
}

// MergeVolumes merges lists of volumes by name; later ones replace earlier ones in place.
func MergeVolumes(lists ...[]corev1.Volume) []corev1.Volume {
	return mergeKeyed(func(v corev1.Volume) string { return v.Name }, lists...)
}

func mergeKeyed[T any, K comparable](key func(T) K, lists ...[]T) []T {
	var out []T
	at := map[K]int{}
	for _, list := range lists {
		for _, item := range list {
			k := key(item)
			if i, seen := at[k]; seen {
				out[i] = item
				continue
			}
			at[k] = len(out)
			out = append(out, item)
		}
	}
	return out
}

// mergeMaps returns nil when nothing is set, so that an empty map is never rendered.
func mergeMaps(layers ...map[string]string) map[string]string {
	var out map[string]string
	for _, layer := range layers {
		if len(layer) == 0 {
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		maps.Copy(out, layer)
	}
	return out
}

// Keys by which the operator finds its objects and decides: they are reserved, even
// where it does not set them.
var (
	reservedLabels = []string{
		v1alpha1.LabelName, v1alpha1.LabelComponent, v1alpha1.LabelInstance,
		v1alpha1.LabelParent, v1alpha1.LabelTaskInstance, v1alpha1.LabelTask,
	}
	reservedAnnotations = []string{
		v1alpha1.AnnotationConfigChecksum, v1alpha1.AnnotationPodSpecHash, v1alpha1.AnnotationAttempt,
	}
)

// userLabels merges labels without the reserved ones.
func userLabels(layers ...map[string]string) map[string]string {
	return without(mergeMaps(layers...), reservedLabels)
}

// userAnnotations merges annotations without the reserved ones.
func userAnnotations(layers ...map[string]string) map[string]string {
	return without(mergeMaps(layers...), reservedAnnotations)
}

func without(m map[string]string, keys []string) map[string]string {
	for _, key := range keys {
		delete(m, key)
	}
	if len(m) == 0 {
		return nil
	}
	return m
}

// mergePorts replaces a port with a later one of the same name, or of the same number and protocol.
func mergePorts(base, over []corev1.ContainerPort) []corev1.ContainerPort {
	var out []corev1.ContainerPort
	for _, p := range slices.Concat(base, over) {
		at := slices.IndexFunc(out, func(q corev1.ContainerPort) bool { return samePort(p, q) })
		if at < 0 {
			out = append(out, p)
			continue
		}
		out[at] = p
		out = slices.Concat(out[:at+1], slices.DeleteFunc(slices.Clone(out[at+1:]), func(q corev1.ContainerPort) bool { return samePort(p, q) }))
	}
	return out
}

func samePort(p, q corev1.ContainerPort) bool {
	if p.Name != "" && p.Name == q.Name {
		return true
	}
	tcp := func(proto corev1.Protocol) bool { return proto == "" || proto == corev1.ProtocolTCP }
	return p.ContainerPort == q.ContainerPort && (p.Protocol == q.Protocol || tcp(p.Protocol) && tcp(q.Protocol))
}

type spread struct {
	topology string
	action   corev1.UnsatisfiableConstraintAction
}

func spreadKey(c corev1.TopologySpreadConstraint) spread {
	return spread{c.TopologyKey, c.WhenUnsatisfiable}
}

func containerName(c corev1.Container) string { return c.Name }

// first returns the first pointer that is not nil.
func first[T any](candidates ...*T) *T {
	for _, c := range candidates {
		if c != nil {
			return c
		}
	}
	return nil
}

func orZero[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

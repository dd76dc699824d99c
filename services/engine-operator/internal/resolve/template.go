package resolve

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
)

// Templates merges a pod template over another by the rules of the package. Containers and
// init containers are replaced by name, except the engine's, which is merged field by
// field. It changes neither argument; either may be nil. Fields that it does not merge are not rendered; admission
// rejects them.
func Templates(lower, upper *corev1.PodTemplateSpec) corev1.PodTemplateSpec {
	var out corev1.PodTemplateSpec
	for _, layer := range []*corev1.PodTemplateSpec{lower, upper} {
		if layer == nil {
			continue
		}
		l := layer.DeepCopy()
		out.Labels = MergeMaps(out.Labels, l.Labels)
		out.Annotations = MergeMaps(out.Annotations, l.Annotations)
		mergePodScalars(&out.Spec, &l.Spec)
		mergePodLists(&out.Spec, &l.Spec)
		mergeContainers(&out.Spec, l.Spec.Containers)
	}
	for _, list := range [][]corev1.Container{out.Spec.Containers, out.Spec.InitContainers} {
		for i := range list {
			unique(&list[i])
		}
	}
	return out
}

// mergePodScalars replaces the scalars that the upper layer sets.
func mergePodScalars(out, l *corev1.PodSpec) {
	set(&out.ServiceAccountName, l.ServiceAccountName)
	set(&out.PriorityClassName, l.PriorityClassName)
	set(&out.DNSPolicy, l.DNSPolicy)
	set(&out.SchedulerName, l.SchedulerName)
	setPointer(&out.Affinity, l.Affinity)
	setPointer(&out.RuntimeClassName, l.RuntimeClassName)
	setPointer(&out.DNSConfig, l.DNSConfig)
	setPointer(&out.PreemptionPolicy, l.PreemptionPolicy)
	setPointer(&out.OS, l.OS)
	setPointer(&out.SecurityContext, l.SecurityContext)
	if len(l.Overhead) > 0 {
		out.Overhead = l.Overhead
	}
	out.NodeSelector = MergeMaps(out.NodeSelector, l.NodeSelector)
}

// mergePodLists concatenates lists, by merge key if the API has one.
func mergePodLists(out, l *corev1.PodSpec) {
	out.Tolerations = append(out.Tolerations, l.Tolerations...)
	out.ReadinessGates = append(out.ReadinessGates, l.ReadinessGates...)
	out.TopologySpreadConstraints = Concat(out.TopologySpreadConstraints, l.TopologySpreadConstraints, spreadKey)
	out.ResourceClaims = Concat(out.ResourceClaims, l.ResourceClaims, claimName)
	out.HostAliases = Concat(out.HostAliases, l.HostAliases, aliasIP)
	out.ImagePullSecrets = Concat(out.ImagePullSecrets, l.ImagePullSecrets, secretName)
	out.InitContainers = Concat(out.InitContainers, l.InitContainers, containerName)
	out.Volumes = Concat(out.Volumes, l.Volumes, volumeName)
}

// mergeContainers merges the engine container field by field and replaces others by name.
func mergeContainers(out *corev1.PodSpec, upper []corev1.Container) {
	for _, c := range upper {
		i := slices.IndexFunc(out.Containers, func(o corev1.Container) bool { return o.Name == c.Name })
		switch {
		case i < 0:
			out.Containers = append(out.Containers, c)
		case c.Name == names.ContainerEngine:
			mergeEngineContainer(&out.Containers[i], &c)
		default:
			out.Containers[i] = c
		}
	}
}

func mergeEngineContainer(out, l *corev1.Container) {
	set(&out.Image, l.Image)
	set(&out.ImagePullPolicy, l.ImagePullPolicy)
	set(&out.WorkingDir, l.WorkingDir)
	set(&out.TerminationMessagePath, l.TerminationMessagePath)
	set(&out.TerminationMessagePolicy, l.TerminationMessagePolicy)
	setPointer(&out.SecurityContext, l.SecurityContext)
	setPointer(&out.Lifecycle, l.Lifecycle)
	if len(l.Resources.Requests)+len(l.Resources.Limits)+len(l.Resources.Claims) > 0 {
		out.Resources = l.Resources
	}
	out.Env = Concat(out.Env, l.Env, EnvName)
	out.EnvFrom = append(out.EnvFrom, l.EnvFrom...)
	out.VolumeMounts = Concat(out.VolumeMounts, l.VolumeMounts, MountPath)
	out.VolumeDevices = Concat(out.VolumeDevices, l.VolumeDevices, devicePath)
	out.ResizePolicy = Concat(out.ResizePolicy, l.ResizePolicy, resizedResource)
}

// MergeMaps returns lower with the entries of upper, which take precedence. It changes neither.
func MergeMaps[V any](lower, upper map[string]V) map[string]V {
	if len(upper) == 0 {
		return lower
	}
	out := maps.Clone(lower)
	if out == nil {
		out = make(map[string]V, len(upper))
	}
	maps.Copy(out, upper)
	return out
}

func set[T comparable](out *T, v T) {
	var zero T
	if v != zero {
		*out = v
	}
}

func setPointer[T any](out **T, v *T) {
	if v != nil {
		*out = v
	}
}

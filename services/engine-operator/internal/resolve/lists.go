package resolve

import (
	"cmp"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
)

// Merge keys identify an entry of a list. They are those of the
// Kubernetes API, whose server-side apply rejects a list with duplicates.

// containerName is the merge key of containers.
func containerName(c corev1.Container) string { return c.Name }

// volumeName is the merge key of volumes.
func volumeName(v corev1.Volume) string { return v.Name }

// EnvName is the merge key of environment variables.
func EnvName(e corev1.EnvVar) string { return e.Name }

// MountPath is the merge key of volume mounts.
func MountPath(m corev1.VolumeMount) string { return m.MountPath }

func devicePath(d corev1.VolumeDevice) string { return d.DevicePath }

func claimName(c corev1.PodResourceClaim) string { return c.Name }

func usedClaim(c corev1.ResourceClaim) string { return c.Name }

func aliasIP(a corev1.HostAlias) string { return a.IP }

func secretName(r corev1.LocalObjectReference) string { return r.Name }

func spreadKey(c corev1.TopologySpreadConstraint) string {
	return c.TopologyKey + "/" + string(c.WhenUnsatisfiable)
}

func portKey(p corev1.ContainerPort) string {
	return strconv.Itoa(int(p.ContainerPort)) + "/" + string(cmp.Or(p.Protocol, corev1.ProtocolTCP))
}

// resizedResource is not a merge key, but the API server rejects two policies for one resource.
func resizedResource(p corev1.ContainerResizePolicy) string { return string(p.ResourceName) }

// Concat appends upper to lower. An entry replaces an earlier one with the same key in place, also
// within one of the lists.
func Concat[T any](lower, upper []T, key func(T) string) []T {
	var out []T
	for _, e := range append(slices.Clone(lower), upper...) {
		if i := slices.IndexFunc(out, func(o T) bool { return key(o) == key(e) }); i >= 0 {
			out[i] = e
			continue
		}
		out = append(out, e)
	}
	return out
}

// unique keeps one entry of each key in the lists of a container: one layer may also
// contain duplicates.
func unique(c *corev1.Container) {
	c.Env = Concat(nil, c.Env, EnvName)
	c.VolumeMounts = Concat(nil, c.VolumeMounts, MountPath)
	c.VolumeDevices = Concat(nil, c.VolumeDevices, devicePath)
	c.Ports = Concat(nil, c.Ports, portKey)
	c.ResizePolicy = Concat(nil, c.ResizePolicy, resizedResource)
	c.Resources.Claims = Concat(nil, c.Resources.Claims, usedClaim)
}

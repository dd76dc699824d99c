package render

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/resolve"
)

// startup derives the node's index from the pod's, concatenates certificate and CA into one
// file if both are mounted, and executes the engine. It is POSIX except the exec.
const startup = `set -eu
index="${POD_INDEX:-${HOSTNAME##*-}}"
tls=/secrets/tls/engine
if [ -f "$tls/tls.crt" ] && [ -f "$tls/ca.crt" ]; then
  cat "$tls/tls.crt" "$tls/ca.crt" > /run/firebolt/engine-tls-bundle.crt
fi
exec /opt/firebolt/firebolt server --node "$index" --data-dir /var/lib/firebolt
`

// reservedEnv are variables that the operator sets.
var reservedEnv = []string{"POD_INDEX", "FB_AWS_EC2_METADATA_CLIENT_ENABLED"}

// containers returns the engine, the optional web interface, and the user's own containers.
func containers(in Input, user []corev1.Container) []corev1.Container {
	var own corev1.Container
	var sidecars []corev1.Container
	for _, c := range user {
		switch c.Name {
		case names.ContainerEngine:
			own = c
		case names.ContainerWeb:
		default:
			sidecars = append(sidecars, c)
		}
	}
	out := []corev1.Container{engineContainer(in, own)}
	if in.Engine.UISidecar {
		out = append(out, webContainer(in.Images.Web, own.ImagePullPolicy))
	}
	return append(out, sidecars...)
}

func engineContainer(in Input, user corev1.Container) corev1.Container {
	c := corev1.Container{
		Name:    names.ContainerEngine,
		Image:   user.Image,
		Command: []string{"/bin/bash", "-c"}, Args: []string{startup},
		ImagePullPolicy: user.ImagePullPolicy,
		Resources:       user.Resources, SecurityContext: user.SecurityContext, Lifecycle: lifecycle(user.Lifecycle),
		WorkingDir: user.WorkingDir, TerminationMessagePath: user.TerminationMessagePath,
		TerminationMessagePolicy: user.TerminationMessagePolicy,
		EnvFrom:                  user.EnvFrom, VolumeDevices: user.VolumeDevices, ResizePolicy: user.ResizePolicy,
		Ports: []corev1.ContainerPort{
			ContainerPort("http-query", names.PortQuery), ContainerPort("health", names.PortHealth),
			ContainerPort("metrics", names.PortMetrics),
		},
		ReadinessProbe: probe("/health/ready", 1, 3, 6),
		LivenessProbe:  probe("/health/live", 2, 5, 6),
		StartupProbe:   probe("/health/live", 0, 5, 30),
	}
	c.LivenessProbe.TerminationGracePeriodSeconds = new(int64(frozenGraceSeconds))
	if c.Image == "" {
		c.Image = in.Images.Engine
	}
	if c.ImagePullPolicy == "" {
		c.ImagePullPolicy = pullPolicy(c.Image)
	}
	if c.SecurityContext == nil {
		c.SecurityContext = SecurityContext(engineUser)
	}
	c.Env = resolve.Concat([]corev1.EnvVar{
		{Name: "POD_INDEX", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{
			APIVersion: "v1", FieldPath: "metadata.labels['apps.kubernetes.io/pod-index']",
		}}},
		{Name: "FB_AWS_EC2_METADATA_CLIENT_ENABLED", Value: "true"},
	}, slices.DeleteFunc(user.Env, func(e corev1.EnvVar) bool { return slices.Contains(reservedEnv, e.Name) }), resolve.EnvName)
	c.VolumeMounts = mounts(user.VolumeMounts)
	return c
}

// lifecycle keeps a terminating pod serving until no more queries arrive, unless the user sets a hook.
func lifecycle(user *corev1.Lifecycle) *corev1.Lifecycle {
	out := user.DeepCopy()
	if out == nil {
		out = &corev1.Lifecycle{}
	}
	if out.PreStop == nil {
		out.PreStop = &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: endpointSeconds}}
	}
	return out
}

// mounts returns the operator's mounts first; a user's mount of a reserved volume or path is dropped.
func mounts(user []corev1.VolumeMount) []corev1.VolumeMount {
	operatorMounts := []corev1.VolumeMount{
		{Name: volumeData, MountPath: "/var/lib/firebolt"},
		{Name: volumeConfig, MountPath: "/var/lib/firebolt/config.yaml", SubPath: "config.yaml", ReadOnly: true},
		{Name: volumeRuntime, MountPath: "/run/firebolt"},
	}
	return resolve.Concat(operatorMounts, slices.DeleteFunc(user, func(m corev1.VolumeMount) bool {
		return reservedVolume(m.Name) ||
			slices.ContainsFunc(operatorMounts, func(o corev1.VolumeMount) bool { return o.MountPath == m.MountPath })
	}), resolve.MountPath)
}

// webContainer serves the web interface next to the engine. It uses the pull policy of the
// engine.
func webContainer(image string, policy corev1.PullPolicy) corev1.Container {
	return corev1.Container{
		Name: names.ContainerWeb, Image: image, ImagePullPolicy: cmp.Or(policy, DefaultPullPolicy(image)),
		Env:             []corev1.EnvVar{{Name: "FIREBOLT_CORE_URL", Value: "http://localhost:3473"}},
		Ports:           []corev1.ContainerPort{ContainerPort("web-ui", names.PortWeb)},
		SecurityContext: SecurityContext(engineUser),
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("25m"), corev1.ResourceMemory: resource.MustParse("128Mi")},
			Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("128Mi")},
		},
		ReadinessProbe: &corev1.Probe{
			ProbeHandler:        corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/", Port: intstr.FromInt32(names.PortWeb)}},
			InitialDelaySeconds: 1, PeriodSeconds: 3, TimeoutSeconds: 2, FailureThreshold: 3,
		},
		VolumeMounts: []corev1.VolumeMount{
			{Name: volumeWeb, MountPath: "/var/tmp", SubPath: "tmp"},
			{Name: volumeWeb, MountPath: "/var/cache/nginx", SubPath: "cache"},
			{Name: volumeWeb, MountPath: "/var/run/nginx", SubPath: "run"},
		},
	}
}

// ContainerPort returns a TCP port of a container.
func ContainerPort(name string, number int32) corev1.ContainerPort {
	return corev1.ContainerPort{Name: name, ContainerPort: number, Protocol: corev1.ProtocolTCP}
}

func probe(path string, initial, period, failures int32) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler:        corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromInt32(names.PortHealth)}},
		InitialDelaySeconds: initial, PeriodSeconds: period, TimeoutSeconds: 3, FailureThreshold: failures,
	}
}

// SecurityContext returns the default security context of the operator's containers; users replace it as a whole.
func SecurityContext(user int64) *corev1.SecurityContext {
	return &corev1.SecurityContext{
		RunAsUser: new(user), RunAsGroup: new(user), RunAsNonRoot: new(true),
		ReadOnlyRootFilesystem: new(true), AllowPrivilegeEscalation: new(false),
		Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
}

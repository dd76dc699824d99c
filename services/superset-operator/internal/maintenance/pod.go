package maintenance

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/render"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
)

const (
	container = "maintenance-page"
	volume    = "maintenance-config"
	portName  = "http"
	// user is the UID that the nginx image defines; the rendered configuration works with any.
	user int64 = 101
	// preStopSeconds is how long a page still answers after it was deleted.
	preStopSeconds int64 = 5
)

// Variables with the user's texts.
const (
	envTitle   = "SUPERSET_OPERATOR__MAINTENANCE_TITLE"
	envMessage = "SUPERSET_OPERATOR__MAINTENANCE_MESSAGE"
	envBody    = "SUPERSET_OPERATOR__MAINTENANCE_BODY"
)

// maxVariableSize is the maximum size of a variable with its name, in bytes: Linux does not start a program with a
// longer one.
const maxVariableSize = 128<<10 - 1

func pod(p *resolve.Page) corev1.PodSpec {
	t, automount := &p.Pod, false
	spec := corev1.PodSpec{
		ServiceAccountName:            p.ServiceAccount,
		AutomountServiceAccountToken:  &automount,
		ImagePullSecrets:              p.PullSecrets,
		Affinity:                      t.Affinity,
		Tolerations:                   t.Tolerations,
		NodeSelector:                  t.NodeSelector,
		TopologySpreadConstraints:     t.TopologySpreadConstraints,
		HostAliases:                   t.HostAliases,
		SecurityContext:               t.PodSecurityContext,
		TerminationGracePeriodSeconds: t.TerminationGracePeriodSeconds,
		DNSConfig:                     t.DNSConfig,
		RuntimeClassName:              t.RuntimeClassName,
		ShareProcessNamespace:         t.ShareProcessNamespace,
		EnableServiceLinks:            t.EnableServiceLinks,
		Resources:                     t.Resources,
		InitContainers:                t.InitContainers,
		Containers:                    append([]corev1.Container{server(p)}, sidecars(t.Sidecars)...),
		Volumes:                       resolve.MergeVolumes(t.Volumes, volumes(p)),
	}
	if t.PriorityClassName != nil {
		spec.PriorityClassName = *t.PriorityClassName
	}
	if t.DNSPolicy != nil {
		spec.DNSPolicy = *t.DNSPolicy
	}
	return spec
}

// server is the container that serves the page.
func server(p *resolve.Page) corev1.Container {
	t := p.Pod.Container
	c := corev1.Container{
		Name:            container,
		Image:           p.Image,
		ImagePullPolicy: p.PullPolicy,
		Command:         t.Command,
		Args:            t.Args,
		Env:             resolve.MergeEnv(t.Env, variables(p)),
		EnvFrom:         t.EnvFrom,
		Ports:           ports(p),
		VolumeMounts:    resolve.MergeMounts(t.VolumeMounts, mounts(p)),
		SecurityContext: t.SecurityContext,
		LivenessProbe:   t.LivenessProbe,
		ReadinessProbe:  t.ReadinessProbe,
		StartupProbe:    t.StartupProbe,
		Lifecycle:       t.Lifecycle,
	}
	if c.Lifecycle == nil {
		c.Lifecycle = preStopHook(p.Pod.TerminationGracePeriodSeconds)
	}
	if t.Resources != nil {
		c.Resources = *t.Resources
	}
	if c.SecurityContext == nil {
		c.SecurityContext = restricted(p)
	}
	if c.LivenessProbe == nil {
		c.LivenessProbe = probe(p, 10)
	}
	if c.ReadinessProbe == nil {
		c.ReadinessProbe = probe(p, 0)
	}
	return c
}

// preStopHook returns a preStop hook that lets a deleted page answer a little longer: nodes update their routes with a
// delay, and requests to a terminated pod are refused or hang. The kubelet sleeps by itself, so any image works. It is
// nil if the user's grace period is too short for it.
func preStopHook(grace *int64) *corev1.Lifecycle {
	if grace != nil && *grace <= preStopSeconds {
		return nil
	}
	return &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: preStopSeconds}}}
}

// sidecars omits containers that have the page's name.
func sidecars(list []corev1.Container) []corev1.Container {
	return slices.DeleteFunc(slices.Clone(list), func(c corev1.Container) bool { return c.Name == container })
}

// ports returns the port that the Service targets first; the user may add others.
func ports(p *resolve.Page) []corev1.ContainerPort {
	out := []corev1.ContainerPort{{Name: portName, ContainerPort: p.Port, Protocol: corev1.ProtocolTCP}}
	for _, more := range p.Pod.Container.Ports {
		if more.Name != portName && more.ContainerPort != p.Port {
			out = append(out, more)
		}
	}
	return out
}

// variables returns the texts of the user as environment variables, for images that use them.
func variables(p *resolve.Page) []corev1.EnvVar {
	var out []corev1.EnvVar
	for _, v := range []struct {
		name string
		text *string
	}{{envTitle, p.Title}, {envMessage, p.Message}, {envBody, p.Body}} {
		if v.text != nil && len(v.name)+len("=")+len(*v.text) < maxVariableSize {
			out = append(out, render.Variable(v.name, *v.text))
		}
	}
	return out
}

func volumes(p *resolve.Page) []corev1.Volume {
	if p.Custom {
		return nil
	}
	return []corev1.Volume{{Name: volume, VolumeSource: corev1.VolumeSource{
		ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: p.ConfigName}},
	}}}
}

func mounts(p *resolve.Page) []corev1.VolumeMount {
	if p.Custom {
		return nil
	}
	return []corev1.VolumeMount{
		{Name: volume, MountPath: mainPath, SubPath: mainKey, ReadOnly: true},
		{Name: volume, MountPath: serverPath, SubPath: serverKey, ReadOnly: true},
		{Name: volume, MountPath: pagePath, SubPath: pageKey, ReadOnly: true},
	}
}

// restricted returns the default security context. An image of the user may need root
// or a capability, so for it the context only forbids privilege escalation and sets
// the default seccomp profile.
func restricted(p *resolve.Page) *corev1.SecurityContext {
	falseValue, trueValue, uid := false, true, user
	out := &corev1.SecurityContext{
		AllowPrivilegeEscalation: &falseValue,
		SeccompProfile:           &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
	if p.Custom {
		return out
	}
	out.RunAsNonRoot, out.RunAsUser = &trueValue, &uid
	out.Capabilities = &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}
	if pinned(p.Pod.PodSecurityContext) {
		out.RunAsUser = nil
	}
	return out
}

// pinned reports whether the pod already names a user other than root.
func pinned(s *corev1.PodSecurityContext) bool {
	return s != nil && s.RunAsUser != nil && *s.RunAsUser != 0
}

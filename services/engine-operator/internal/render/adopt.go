package render

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
)

// Annotations of an earlier operator for features that this release does not have.
var foreignInputs = []string{"firebolt.io/auth-hash", "firebolt.io/engine-tls-hash"}

// Legacy reports whether an earlier operator created live. The operator rewrites neither the
// StatefulSet nor its ConfigMap, which its pods have already read.
func Legacy(live *appsv1.StatefulSet) bool {
	_, managed := live.Annotations[names.AnnotationRenderingHash]
	return !managed
}

// Adoption returns the value of the annotation [names.AnnotationAdopted] to write to live;
// it is empty if no write is needed.
//
// An earlier operator wrote other commands, probes and defaults. Its StatefulSet still is the
// same generation if the fields that users control match
// (reference 2.8). They are compared once. The annotation then records the desired rendering
// and the revision of the live spec: from then on, a change of either is drift.
// It is set in the StatefulSet's metadata, never in its template, and must be written to
// the resourceVersion that was compared.
func Adoption(desired Generation, live *appsv1.StatefulSet) string {
	if _, known := live.Annotations[names.AnnotationAdopted]; known || !Legacy(live) {
		return ""
	}
	return adoption(desired, live)
}

func adoption(desired Generation, live *appsv1.StatefulSet) string {
	return fmt.Sprintf("%s-%d", desired.Fingerprint, live.Generation)
}

// continues reports whether a StatefulSet of an earlier operator matches the desired state.
func continues(desired Generation, live *appsv1.StatefulSet, settled bool) bool {
	want := desired.StatefulSet
	return sameInputs(want.Annotations, live.Annotations, settled) &&
		ptr.Deref(want.Spec.Replicas, 1) == ptr.Deref(live.Spec.Replicas, 1) &&
		sameStorage(&want.Spec, &live.Spec) &&
		same(userFields(want.Spec.Template, desired.defaulted), userFields(live.Spec.Template, desired.defaulted))
}

// sameInputs compares the recorded inputs of the StatefulSet. Another operator may
// have written a hash differently: while the engine's spec has not changed since its rollout,
// only the presence of a hash counts.
func sameInputs(want, have map[string]string, settled bool) bool {
	for _, key := range []string{names.AnnotationConfigHash, names.AnnotationClassHash} {
		w, h := want[key], have[key]
		if (w == "") != (h == "") || (!settled && w != h) {
			return false
		}
	}
	for _, key := range foreignInputs {
		if have[key] != "" {
			return false
		}
	}
	return want[names.AnnotationOverride] == have[names.AnnotationOverride]
}

// same reports whether two values are equal. The API server may have defaulted them.
func same[T any](a, b T) bool {
	va, vb := reflect.ValueOf(a), reflect.ValueOf(b)
	return contains(va, vb) && contains(vb, va)
}

// sameStorage compares the backend of the engine's data.
func sameStorage(want, have *appsv1.StatefulSetSpec) bool {
	w, h := backend(want), backend(have)
	return same(w, h)
}

func backend(s *appsv1.StatefulSetSpec) v1alpha1.EngineStorageSpec {
	var out v1alpha1.EngineStorageSpec
	for i := range s.VolumeClaimTemplates {
		if c := &s.VolumeClaimTemplates[i]; c.Name == volumeData {
			out.PersistentVolumeClaim = &v1alpha1.EnginePVCStorage{
				Size: c.Spec.Resources.Requests[corev1.ResourceStorage], AccessModes: c.Spec.AccessModes, StorageClassName: c.Spec.StorageClassName,
			}
		}
	}
	for i := range s.Template.Spec.Volumes {
		switch v := &s.Template.Spec.Volumes[i]; {
		case v.Name != volumeData:
		case v.HostPath != nil:
			out.HostPath = &v1alpha1.EngineHostPathStorage{Path: v.HostPath.Path}
			if t := ptr.Deref(v.HostPath.Type, ""); t != "" {
				out.HostPath.Type = &t
			}
		case v.EmptyDir != nil:
			out.EmptyDir = &v1alpha1.EngineEmptyDirStorage{Medium: v.EmptyDir.Medium, SizeLimit: v.EmptyDir.SizeLimit}
		}
	}
	return out
}

// defaulted marks the fields of the engine container that the user does not set; their
// operator defaults may differ from those of an earlier operator.
type defaulted struct{ image, pullPolicy bool }

// defaultedFields returns the fields that the user's containers do not set.
func defaultedFields(user []corev1.Container) defaulted {
	for i := range user {
		if c := &user[i]; c.Name == names.ContainerEngine {
			return defaulted{image: c.Image == "", pullPolicy: c.Image == "" && c.ImagePullPolicy == ""}
		}
	}
	return defaulted{image: true, pullPolicy: true}
}

// userFields returns the fields of a pod template that users control, with the API server's defaults
// set. It omits volumes next to the data, pull secrets, ports, command, arguments and the
// operator's probes: earlier operators did not compare them either.
func userFields(t corev1.PodTemplateSpec, d defaulted) corev1.PodTemplateSpec {
	t = *t.DeepCopy()
	s := &t.Spec
	s.Volumes, s.ImagePullSecrets, s.EnableServiceLinks = nil, nil, nil
	s.DeprecatedServiceAccount, s.RestartPolicy = "", ""
	s.DNSPolicy = cmp.Or(s.DNSPolicy, corev1.DNSClusterFirst)
	s.SchedulerName = cmp.Or(s.SchedulerName, corev1.DefaultSchedulerName)
	// The operator sets their order: the web interface precedes or follows the user's containers.
	slices.SortStableFunc(s.Containers, func(a, b corev1.Container) int { return strings.Compare(a.Name, b.Name) })
	for i := range s.Containers {
		switch c := &s.Containers[i]; c.Name {
		case names.ContainerEngine:
			*c = userContainerFields(*c, d)
		case names.ContainerWeb:
			*c = corev1.Container{Name: c.Name}
		}
	}
	for _, list := range [][]corev1.Container{s.Containers, s.InitContainers} {
		for i := range list {
			writeDefaults(&list[i])
		}
	}
	return t
}

// userContainerFields returns the fields of the engine container that users control. The operator sets
// the order of variables and mounts.
func userContainerFields(c corev1.Container, d defaulted) corev1.Container {
	c.Command, c.Args, c.Ports = nil, nil, nil
	c.ReadinessProbe, c.LivenessProbe, c.StartupProbe = nil, nil, nil
	c.Lifecycle = userLifecycle(c.Lifecycle)
	if d.image {
		c.Image = ""
	}
	if d.pullPolicy {
		c.ImagePullPolicy = corev1.PullAlways
	}
	c.Env = slices.DeleteFunc(c.Env, func(e corev1.EnvVar) bool { return slices.Contains(reservedEnv, e.Name) })
	slices.SortStableFunc(c.Env, func(a, b corev1.EnvVar) int { return strings.Compare(a.Name, b.Name) })
	c.VolumeMounts = slices.DeleteFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return reservedVolume(m.Name) })
	slices.SortStableFunc(c.VolumeMounts, func(a, b corev1.VolumeMount) int { return strings.Compare(a.MountPath, b.MountPath) })
	return c
}

// userLifecycle returns the user's hooks. Earlier operators had no hooks of their own.
func userLifecycle(l *corev1.Lifecycle) *corev1.Lifecycle {
	if l == nil || !reflect.DeepEqual(l.PreStop, lifecycle(nil).PreStop) {
		return l
	}
	if l.PostStart == nil {
		return nil
	}
	return &corev1.Lifecycle{PostStart: l.PostStart}
}

// writeDefaults sets the API server's defaults of a container.
func writeDefaults(c *corev1.Container) {
	c.ImagePullPolicy = cmp.Or(c.ImagePullPolicy, DefaultPullPolicy(c.Image))
	c.TerminationMessagePath = cmp.Or(c.TerminationMessagePath, corev1.TerminationMessagePathDefault)
	c.TerminationMessagePolicy = cmp.Or(c.TerminationMessagePolicy, corev1.TerminationMessageReadFile)
	for i := range c.Ports {
		c.Ports[i].Protocol = cmp.Or(c.Ports[i].Protocol, corev1.ProtocolTCP)
	}
	for i := range c.Env {
		if from := c.Env[i].ValueFrom; from != nil && from.FieldRef != nil {
			from.FieldRef.APIVersion = cmp.Or(from.FieldRef.APIVersion, "v1")
		}
	}
	for _, p := range []*corev1.Probe{c.ReadinessProbe, c.LivenessProbe, c.StartupProbe} {
		if p == nil {
			continue
		}
		p.TimeoutSeconds, p.PeriodSeconds = cmp.Or(p.TimeoutSeconds, 1), cmp.Or(p.PeriodSeconds, 10)
		p.SuccessThreshold, p.FailureThreshold = cmp.Or(p.SuccessThreshold, 1), cmp.Or(p.FailureThreshold, 3)
		writeGet(p.HTTPGet)
		if p.GRPC != nil && p.GRPC.Service == nil {
			p.GRPC.Service = new("")
		}
	}
	if l := c.Lifecycle; l != nil {
		for _, h := range []*corev1.LifecycleHandler{l.PostStart, l.PreStop} {
			if h != nil {
				writeGet(h.HTTPGet)
			}
		}
	}
}

func writeGet(g *corev1.HTTPGetAction) {
	if g != nil {
		g.Path, g.Scheme = cmp.Or(g.Path, "/"), cmp.Or(g.Scheme, corev1.URISchemeHTTP)
	}
}

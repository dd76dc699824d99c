package render

import (
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/resolve"
)

// engineUser is the user and group that the engine image runs as.
const engineUser = 3473

// Volumes of an engine pod that belong to the operator.
const (
	volumeData    = "data"
	volumeConfig  = "engine-config"
	volumeRuntime = "runtime"
	volumeWeb     = "nginx-writable-dir"
)

// reservedVolume reports whether the operator reserves the name, also for the volumes of
// authentication and TLS, which this release does not create.
func reservedVolume(name string) bool {
	switch name {
	case volumeData, volumeConfig, volumeRuntime, volumeWeb, "auth-admin", "tls-engine":
		return true
	}
	return strings.HasPrefix(name, "auth-signing-")
}

func statefulSet(in Input) *appsv1.StatefulSet {
	e := in.Engine
	labels := names.GenerationLabels(e.Name, in.Generation)
	set := &appsv1.StatefulSet{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "StatefulSet"},
		ObjectMeta: metav1.ObjectMeta{
			Name: names.Generation(e.Name, in.Generation), Namespace: e.Namespace,
			Labels: labels, Annotations: inputs(e),
		},
		Spec: appsv1.StatefulSetSpec{
			Replicas:            new(e.Replicas),
			ServiceName:         names.Headless(e.Name, in.Generation),
			PodManagementPolicy: appsv1.ParallelPodManagement,
			Selector:            &metav1.LabelSelector{MatchLabels: labels},
			PersistentVolumeClaimRetentionPolicy: &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
				WhenDeleted: appsv1.DeletePersistentVolumeClaimRetentionPolicyType,
				WhenScaled:  appsv1.RetainPersistentVolumeClaimRetentionPolicyType,
			},
			Template: podTemplate(in, labels),
		},
	}
	if pvc := e.Storage.PersistentVolumeClaim; pvc != nil {
		set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{claim(*pvc)}
	}
	return set
}

// inputs returns the annotations that record the inputs of the generation.
func inputs(e resolve.Engine) map[string]string {
	out := map[string]string{}
	for key, v := range map[string]string{
		names.AnnotationConfigHash: e.ConfigHash,
		names.AnnotationClassHash:  e.ClassHash,
		names.AnnotationOverride:   e.EndpointOverride,
	} {
		if v != "" {
			out[key] = v
		}
	}
	return out
}

// podTemplate completes the template of the engine, which has only fields that users may set.
func podTemplate(in Input, labels map[string]string) corev1.PodTemplateSpec {
	t := in.Engine.Template.DeepCopy()
	t.Labels = resolve.MergeMaps(t.Labels, labels)
	t.Spec.TerminationGracePeriodSeconds = new(int64(gracePeriodSeconds))
	t.Spec.EnableServiceLinks = new(false)
	t.Spec.SecurityContext = podSecurity(t.Spec.SecurityContext)
	t.Spec.Containers = containers(in, t.Spec.Containers)
	t.Spec.Volumes = volumes(in, t.Spec.Volumes)
	return *t
}

// podSecurity sets the group of the volumes unless the user sets one.
func podSecurity(user *corev1.PodSecurityContext) *corev1.PodSecurityContext {
	out := user.DeepCopy()
	if out == nil {
		out = &corev1.PodSecurityContext{}
	}
	if out.FSGroup == nil {
		out.FSGroup = new(int64(engineUser))
	}
	if out.FSGroupChangePolicy == nil {
		out.FSGroupChangePolicy = new(corev1.FSGroupChangeOnRootMismatch)
	}
	return out
}

// volumes returns the operator's volumes first; a user's volume with a reserved name is dropped.
func volumes(in Input, user []corev1.Volume) []corev1.Volume {
	e := in.Engine
	config := &corev1.ConfigMapVolumeSource{
		LocalObjectReference: corev1.LocalObjectReference{Name: names.Config(e.Name, in.Generation)},
	}
	out := []corev1.Volume{
		{Name: volumeConfig, VolumeSource: corev1.VolumeSource{ConfigMap: config}},
		{Name: volumeRuntime, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
	}
	if data, ok := dataVolume(e.Storage); ok {
		out = append([]corev1.Volume{data}, out...)
	}
	if e.UISidecar {
		out = append(out, corev1.Volume{Name: volumeWeb, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
	}
	for _, v := range user {
		if !reservedVolume(v.Name) {
			out = append(out, v)
		}
	}
	return out
}

// dataVolume returns the volume of the engine's local data, unless each pod has a claim for it.
func dataVolume(s v1alpha1.EngineStorageSpec) (corev1.Volume, bool) {
	v := corev1.Volume{Name: volumeData}
	switch {
	case s.PersistentVolumeClaim != nil:
		return v, false
	case s.HostPath != nil:
		v.HostPath = &corev1.HostPathVolumeSource{Path: s.HostPath.Path, Type: s.HostPath.Type}
	case s.EmptyDir != nil:
		v.EmptyDir = &corev1.EmptyDirVolumeSource{Medium: s.EmptyDir.Medium, SizeLimit: s.EmptyDir.SizeLimit}
	default:
		v.EmptyDir = &corev1.EmptyDirVolumeSource{}
	}
	return v, true
}

// claim fills in defaults that the schema sets only when the struct is present.
func claim(s v1alpha1.EnginePVCStorage) corev1.PersistentVolumeClaim {
	size, modes := s.Size, s.AccessModes
	if size.IsZero() {
		size = resource.MustParse("1Gi")
	}
	if len(modes) == 0 {
		modes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	}
	return corev1.PersistentVolumeClaim{
		// Without kind and version: the API server drops them inside a StatefulSet.
		ObjectMeta: metav1.ObjectMeta{Name: volumeData},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: modes, StorageClassName: s.StorageClassName,
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: size}},
		},
	}
}

// pullPolicy returns Always for an image with a mutable tag: those of Kubernetes, and dev, the tag of builds of the engine
// and of the metadata service.
func pullPolicy(image string) corev1.PullPolicy {
	if _, tag := tagOf(image); tag == "dev" {
		return corev1.PullAlways
	}
	return DefaultPullPolicy(image)
}

// DefaultPullPolicy returns the default of the API server: Always without a tag and for latest.
func DefaultPullPolicy(image string) corev1.PullPolicy {
	if pinned, tag := tagOf(image); !pinned && (tag == "" || tag == "latest") {
		return corev1.PullAlways
	}
	return corev1.PullIfNotPresent
}

// tagOf returns the tag of an image, and whether a digest pins it.
func tagOf(image string) (pinned bool, tag string) {
	name := image[strings.LastIndex(image, "/")+1:]
	name, _, pinned = strings.Cut(name, "@")
	if !pinned {
		_, tag, _ = strings.Cut(name, ":")
	}
	return pinned, tag
}

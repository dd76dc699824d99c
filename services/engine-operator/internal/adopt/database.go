package adopt

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/render"
)

// hashedImage is the image in the fingerprint of an adopted database, which runs its own one: the operator's image is not an input,
// so another one changes nothing.
const hashedImage = "postgres:16-alpine"

// Database renders the operator's own database. If an earlier operator created the live one, it keeps the image that reads its
// data; former is the hash that v0.1.0-pre recorded for the same rendering.
func Database(
	i *v1alpha1.FireboltInstance, images render.Images, replicas int32, live *appsv1.StatefulSet,
) (desired render.Postgres, former string, err error) {
	desired, err = render.PostgresOf(i, images, replicas)
	if err != nil || !IsAdopted(live) {
		return desired, "", err
	}
	former = desired.StatefulSet.Annotations[names.AnnotationRenderingHash]
	images.Postgres = hashedImage
	if desired, err = render.PostgresOf(i, images, replicas); err == nil {
		keepData(desired.StatefulSet, live)
	}
	return desired, former, err
}

// IsAdopted reports whether an earlier operator created the live database, also if this one has applied it since.
func IsAdopted(live *appsv1.StatefulSet) bool {
	if live == nil {
		return false
	}
	_, marked := live.Annotations[names.AnnotationAdopted]
	return marked || render.Legacy(live)
}

// keepData makes desired run the image of the live database in its environment: our image, path and user may be unable to read
// the data. The annotation keeps that known after desired was applied.
func keepData(desired, live *appsv1.StatefulSet) {
	metav1.SetMetaDataAnnotation(&desired.ObjectMeta, names.AnnotationAdopted, desired.Annotations[names.AnnotationRenderingHash])
	have := live.DeepCopy().Spec
	desired.Spec.VolumeClaimTemplates = have.VolumeClaimTemplates
	pod, old := &desired.Spec.Template.Spec, &have.Template.Spec
	d, l := indexDatabase(pod.Containers), indexDatabase(old.Containers)
	if d < 0 || l < 0 { // its program is unknown
		desired.Spec.Template = have.Template
		return
	}
	keepContainer(&pod.Containers[d], &old.Containers[l])
	pod.InitContainers, pod.Volumes, pod.SecurityContext = old.InitContainers, old.Volumes, old.SecurityContext
	pod.ImagePullSecrets, pod.ServiceAccountName = old.ImagePullSecrets, old.ServiceAccountName
}

// keepContainer keeps the image and all that it reads the data with. Probes, ports and resources stay those of the desired container.
func keepContainer(desired, have *corev1.Container) {
	desired.Image, desired.ImagePullPolicy = have.Image, have.ImagePullPolicy
	desired.Command, desired.Args, desired.WorkingDir = have.Command, have.Args, have.WorkingDir
	desired.Env, desired.EnvFrom = have.Env, have.EnvFrom
	desired.VolumeMounts, desired.SecurityContext = have.VolumeMounts, have.SecurityContext
}

func indexDatabase(containers []corev1.Container) int {
	return slices.IndexFunc(containers, func(c corev1.Container) bool { return c.Name == names.ContainerPostgres })
}

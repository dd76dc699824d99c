package adopt

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/render"
)

// renderDatabase renders the database of an instance for a live one.
func renderDatabase(t *testing.T, image string, replicas int32, live *appsv1.StatefulSet) (*appsv1.StatefulSet, string) {
	t.Helper()
	i := &v1alpha1.FireboltInstance{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "shop"}}
	p, former, err := Database(i, render.Images{Postgres: image}, replicas, live)
	if err != nil {
		t.Fatal(err)
	}
	return p.StatefulSet, former
}

// earlierDatabase returns the database of an earlier operator.
func earlierDatabase() *appsv1.StatefulSet {
	s := &appsv1.StatefulSet{}
	s.Spec.Replicas = new(int32(1))
	s.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: corev1.PersistentVolumeClaimSpec{
		Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("5Gi")}},
	}}}
	s.Spec.Template.Spec = corev1.PodSpec{
		SecurityContext:  &corev1.PodSecurityContext{FSGroup: new(int64(999))},
		InitContainers:   []corev1.Container{{Name: "chown"}},
		ImagePullSecrets: []corev1.LocalObjectReference{{Name: "registry"}}, ServiceAccountName: "old",
		Volumes: []corev1.Volume{{Name: "settings"}},
		Containers: []corev1.Container{{Name: "sidecar"}, {
			Name: names.ContainerPostgres, Image: "registry.example.com/postgres:15", ImagePullPolicy: corev1.PullAlways,
			Command: []string{"/old"}, Args: []string{"-c", "fsync=on"}, WorkingDir: "/old",
			Env:             []corev1.EnvVar{{Name: "PGDATA", Value: "/old/data"}},
			EnvFrom:         []corev1.EnvFromSource{{Prefix: "OLD_"}},
			VolumeMounts:    []corev1.VolumeMount{{Name: "data", MountPath: "/old"}},
			SecurityContext: &corev1.SecurityContext{RunAsUser: new(int64(999))},
			Resources:       corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("7")}},
		}},
	}
	return s
}

// The image of an adopted database reads data of its own major version only. What the data does not depend on is ours.
func TestAdoptedDatabaseKeepsData(t *testing.T) {
	live := earlierDatabase()
	before := live.DeepCopy()
	ours, _ := renderDatabase(t, "postgres:17-alpine", 0, nil)
	got, _ := renderDatabase(t, "postgres:17-alpine", 0, live)
	want := ours.DeepCopy()
	want.Spec.VolumeClaimTemplates = live.Spec.VolumeClaimTemplates
	pod, old := &want.Spec.Template.Spec, live.Spec.Template.Spec
	pod.InitContainers, pod.Volumes, pod.SecurityContext = old.InitContainers, old.Volumes, old.SecurityContext
	pod.ImagePullSecrets, pod.ServiceAccountName = old.ImagePullSecrets, old.ServiceAccountName
	c := old.Containers[1]
	own := pod.Containers[0]
	c.Ports, c.Resources = own.Ports, own.Resources
	c.StartupProbe, c.ReadinessProbe, c.LivenessProbe = own.StartupProbe, own.ReadinessProbe, own.LivenessProbe
	pod.Containers = []corev1.Container{c}
	if diff := cmp.Diff(want.Spec, got.Spec); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, live); diff != "" {
		t.Errorf("the cached object was changed:\n%s", diff)
	}
	again, _ := renderDatabase(t, "postgres:18", 0, got)
	if diff := cmp.Diff(got, again); diff != "" {
		t.Errorf("the applied database changes with the operator's image (-before +after):\n%s", diff)
	}
	started, _ := renderDatabase(t, "postgres:18", 1, got)
	if c := started.Spec.Template.Spec.Containers[0]; c.Image != "registry.example.com/postgres:15" || *started.Spec.Replicas != 1 {
		t.Errorf("the stopped database starts with image %s, replicas %d", c.Image, *started.Spec.Replicas)
	}
}

// A database without the container of that name runs something unknown, which stays.
func TestAdoptedDatabaseKeepsUnknownPod(t *testing.T) {
	live := earlierDatabase()
	live.Spec.Template.Spec.Containers[1].Name = "db"
	got, _ := renderDatabase(t, "postgres:17-alpine", 0, live)
	if diff := cmp.Diff(live.Spec.Template, got.Spec.Template); diff != "" || *got.Spec.Replicas != 0 {
		t.Errorf("%d replicas, template (-want +got):\n%s", *got.Spec.Replicas, diff)
	}
}

// Our own database gets the image that the operator is started with.
func TestOwnDatabaseGetsImage(t *testing.T) {
	live, _ := renderDatabase(t, "postgres:16-alpine", 1, nil)
	got, _ := renderDatabase(t, "postgres:17-alpine", 1, live)
	want, _ := renderDatabase(t, "postgres:17-alpine", 1, nil)
	if diff := cmp.Diff(want, got); diff != "" || got.Spec.Template.Spec.Containers[0].Image != "postgres:17-alpine" {
		t.Errorf("StatefulSet (-want +got):\n%s", diff)
	}
}

// A user may mark a database that was created again, and correct its image.
func TestMarkedDatabaseKeepsData(t *testing.T) {
	live, _ := renderDatabase(t, "postgres:16-alpine", 1, nil)
	metav1.SetMetaDataAnnotation(&live.ObjectMeta, names.AnnotationAdopted, "manual")
	live.Spec.Template.Spec.Containers[0].Image = "postgres:15"
	if got, _ := renderDatabase(t, "postgres:16-alpine", 1, live); got.Spec.Template.Spec.Containers[0].Image != "postgres:15" {
		t.Errorf("image %s", got.Spec.Template.Spec.Containers[0].Image)
	}
}

// An adopted database stays unchanged when the operator is started with another image, also if v0.1.0-pre adopted it, whatever
// its image was.
func TestAdoptedDatabaseIgnoresOperatorImage(t *testing.T) {
	for _, image := range []string{hashedImage, "registry.example.com/postgres:16"} {
		t.Run(image, func(t *testing.T) {
			live := earlierDatabase()
			recorded, _ := renderDatabase(t, image, 1, nil) // v0.1.0-pre recorded the hash of our own rendering
			Note(recorded, live)
			desired, former := renderDatabase(t, image, 1, live)
			action := Decide(desired, live, true, former)
			if action == Apply {
				t.Error("the upgrade applies the database")
			}
			if action == Annotate {
				Note(desired, live)
			}
			desired, former = renderDatabase(t, "postgres:17-alpine", 1, live)
			if got := Decide(desired, live, true, former); got != Skip {
				t.Errorf("Decide() with another image = %v, want %v", got, Skip)
			}
			desired, former = renderDatabase(t, "postgres:17-alpine", 0, live)
			if got := Decide(desired, live, false, former); got != Apply {
				t.Errorf("Decide() of a stop = %v, want %v", got, Apply)
			}
		})
	}
}

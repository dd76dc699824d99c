package resolve_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
)

func web(edit func(*v1alpha1.SupersetSpec)) resolve.Component {
	sup := &v1alpha1.Superset{ObjectMeta: metav1.ObjectMeta{Name: "x", Namespace: "default"}}
	sup.Spec.Image = v1alpha1.ImageSpec{Repository: "r", Tag: "1"}
	sup.Spec.WebServer = &v1alpha1.WebServerSpec{}
	edit(&sup.Spec)
	return resolve.For(sup, resolve.Options{}).Components[0]
}

func container(t *v1alpha1.ContainerTemplate) *v1alpha1.PodTemplate {
	return &v1alpha1.PodTemplate{Container: t}
}

func TestKeyedListsMergeInPlaceAndStayUnique(t *testing.T) {
	c := web(func(s *v1alpha1.SupersetSpec) {
		s.PodTemplate = container(&v1alpha1.ContainerTemplate{
			Env:          []corev1.EnvVar{{Name: "A", Value: "top"}, {Name: "B", Value: "top"}},
			VolumeMounts: []corev1.VolumeMount{{Name: "v", MountPath: "/one"}},
			Ports:        []corev1.ContainerPort{{Name: "http", ContainerPort: 8088}, {ContainerPort: 9100}, {ContainerPort: 9200}},
		})
		s.WebServer.PodTemplate = container(&v1alpha1.ContainerTemplate{
			Env:          []corev1.EnvVar{{Name: "C", Value: "web"}, {Name: "A", Value: "web"}},
			VolumeMounts: []corev1.VolumeMount{{Name: "v", MountPath: "/two"}, {Name: "w", MountPath: "/one"}},
			Ports:        []corev1.ContainerPort{{Name: "http", ContainerPort: 9000}, {Name: "metrics", ContainerPort: 9100, Protocol: "TCP"}},
		})
	})
	got := c.Pod.Container
	want := &v1alpha1.ContainerTemplate{
		Env:          []corev1.EnvVar{{Name: "A", Value: "web"}, {Name: "B", Value: "top"}, {Name: "C", Value: "web"}},
		VolumeMounts: []corev1.VolumeMount{{Name: "w", MountPath: "/one"}, {Name: "v", MountPath: "/two"}},
		Ports: []corev1.ContainerPort{
			{Name: "http", ContainerPort: 9000}, {Name: "metrics", ContainerPort: 9100, Protocol: "TCP"}, {ContainerPort: 9200},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("merged container differs (-want +got):\n%s", diff)
	}
	if c.Port() != 9000 {
		t.Errorf("port %d", c.Port())
	}
}

func TestPrecedenceOfSingleValues(t *testing.T) {
	trueValue, falseValue := true, false
	c := web(func(s *v1alpha1.SupersetSpec) {
		s.Replicas, s.BootstrapScript = new(int32(4)), new("top")
		s.PodTemplate = &v1alpha1.PodTemplate{EnableServiceLinks: &trueValue, ShareProcessNamespace: &trueValue}
		s.WebServer.PodTemplate = &v1alpha1.PodTemplate{EnableServiceLinks: &falseValue}
		s.WebServer.BootstrapScript = new("")
		s.WebServer.Image = &v1alpha1.ImageOverrideSpec{Tag: new("2")}
	})
	if c.Replicas != 4 || c.Bootstrap != "" || c.Image != "r:2" {
		t.Errorf("got %d replicas, bootstrap %q, image %s", c.Replicas, c.Bootstrap, c.Image)
	}
	if *c.Pod.EnableServiceLinks || !*c.Pod.ShareProcessNamespace {
		t.Error("the component does not override the top level")
	}
}

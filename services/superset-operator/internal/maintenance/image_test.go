package maintenance_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/maintenance"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
)

// imageCase is an image of the page, with the container that the user configures for it.
type imageCase struct {
	image     v1alpha1.ContainerImageSpec
	container v1alpha1.ContainerTemplate
	want      string
}

func (c *imageCase) page(t *testing.T) *resolve.Page {
	t.Helper()
	return page(t, "managed", func(sup *v1alpha1.Superset) {
		sup.Spec.Lifecycle.MaintenancePage.Image = &c.image
		sup.Spec.Lifecycle.MaintenancePage.PodTemplate = &v1alpha1.PodTemplate{Container: &c.container}
	})
}

// TestW20ImageOfNginxServesOperatorsPage checks that an image changes nothing but itself if it is the default one: in parts, or in
// a mirror.
func TestW20ImageOfNginxServesOperatorsPage(t *testing.T) {
	mounts := func(path string) v1alpha1.ContainerTemplate {
		return v1alpha1.ContainerTemplate{VolumeMounts: []corev1.VolumeMount{{Name: "v", MountPath: path}}}
	}
	for name, tc := range map[string]imageCase{
		"an empty image":     {want: "nginx:alpine"},
		"a default of a CRD": {image: v1alpha1.ContainerImageSpec{PullPolicy: corev1.PullIfNotPresent}, want: "nginx:alpine"},
		"a pull policy":      {image: v1alpha1.ContainerImageSpec{PullPolicy: corev1.PullAlways}, want: "nginx:alpine"},
		"pull secrets":       {image: v1alpha1.ContainerImageSpec{PullSecrets: []corev1.LocalObjectReference{{Name: "x"}}}, want: "nginx:alpine"},
		"a tag":              {image: v1alpha1.ContainerImageSpec{Tag: "1.29"}, want: "nginx:1.29"},
		"its own name":       {image: v1alpha1.ContainerImageSpec{Repository: "nginx"}, want: "nginx:alpine"},
		"a mirror": {
			image: v1alpha1.ContainerImageSpec{Repository: "localhost:5000/library/nginx", Tag: "1.29"}, want: "localhost:5000/library/nginx:1.29",
		},
		"a digest": {image: v1alpha1.ContainerImageSpec{Repository: "mirror/nginx@sha256", Tag: "0a"}, want: "mirror/nginx@sha256:0a"},
		"mounts elsewhere": {
			image: v1alpha1.ContainerImageSpec{Repository: "mirror/nginx"}, container: mounts("/etc/nginx-cache"), want: "mirror/nginx:alpine",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := tc.page(t)
			want := page(t, "managed", func(sup *v1alpha1.Superset) {
				sup.Spec.Lifecycle.MaintenancePage.PodTemplate = &v1alpha1.PodTemplate{Container: &tc.container}
			})
			if got.Image != tc.want {
				t.Errorf("image %s, want %s", got.Image, tc.want)
			}
			want.Image, want.PullPolicy, want.PullSecrets = got.Image, got.PullPolicy, got.PullSecrets
			if diff := cmp.Diff(maintenance.Deployment(want), maintenance.Deployment(got)); diff != "" {
				t.Errorf("Deployment differs (-without an image +with it):\n%s", diff)
			}
			if diff := cmp.Diff(maintenance.ConfigMap(want), maintenance.ConfigMap(got)); diff != "" {
				t.Errorf("ConfigMap differs (-without an image +with it):\n%s", diff)
			}
		})
	}
}

// TestW20OtherImageServesItsOwnPage checks that the operator adds no files to a server of the user.
func TestW20OtherImageServesItsOwnPage(t *testing.T) {
	nginx := v1alpha1.ContainerImageSpec{Repository: "mirror/nginx"}
	for name, tc := range map[string]imageCase{
		"another name":       {image: v1alpha1.ContainerImageSpec{Repository: "team/page"}},
		"a similar name":     {image: v1alpha1.ContainerImageSpec{Repository: "team/nginx-page"}},
		"nginx as directory": {image: v1alpha1.ContainerImageSpec{Repository: "nginx/page"}},
		"a command":          {image: nginx, container: v1alpha1.ContainerTemplate{Command: []string{"/serve"}}},
		"arguments":          {image: nginx, container: v1alpha1.ContainerTemplate{Args: []string{"nginx", "-c", "/page/nginx.conf"}}},
		"a configuration": {image: nginx, container: v1alpha1.ContainerTemplate{
			VolumeMounts: []corev1.VolumeMount{{Name: "v", MountPath: "/etc/nginx/conf.d/"}},
		}},
		"a whole configuration": {image: v1alpha1.ContainerImageSpec{Tag: "1.29"}, container: v1alpha1.ContainerTemplate{
			VolumeMounts: []corev1.VolumeMount{{Name: "v", MountPath: "/etc/nginx"}},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			got := tc.page(t)
			c := container(got)
			if len(c.VolumeMounts) != len(tc.container.VolumeMounts) || maintenance.ConfigMap(got) != nil || c.ReadinessProbe.TCPSocket == nil {
				t.Errorf("the page gets the operator's files: %+v", c)
			}
		})
	}
}

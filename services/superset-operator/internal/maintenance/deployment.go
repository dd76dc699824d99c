package maintenance

import (
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/checksum"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/names"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/render"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
)

// Deployment renders the page's Deployment.
func Deployment(p *resolve.Page) *appsv1.Deployment {
	template := &p.Deployment
	sum := map[string]string{v1alpha1.AnnotationConfigChecksum: fingerprint(p)}
	d := &appsv1.Deployment{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: p.Namespace, Name: p.Name,
			Labels: layered(template.Labels, p.Labels), Annotations: template.Annotations,
		},
		Spec: appsv1.DeploymentSpec{
			Replicas:                &p.Replicas,
			RevisionHistoryLimit:    template.RevisionHistoryLimit,
			ProgressDeadlineSeconds: template.ProgressDeadlineSeconds,
			Selector:                &metav1.LabelSelector{MatchLabels: p.Selector},
			Strategy:                render.Strategy(template.Strategy),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{
					Labels: layered(p.Pod.Labels, p.Labels), Annotations: layered(p.Pod.Annotations, sum),
				},
				Spec: pod(p),
			},
		},
	}
	if template.MinReadySeconds != nil {
		d.Spec.MinReadySeconds = *template.MinReadySeconds
	}
	return d
}

// fingerprint covers the files: they are subPath mounts, which do not follow their
// ConfigMap in a running pod.
func fingerprint(p *resolve.Page) string {
	b := checksum.New(names.MaintenancePage)
	if !p.Custom {
		data := files(p)
		for _, key := range slices.Sorted(maps.Keys(data)) {
			b.String(key, data[key])
		}
	}
	return b.Sum()
}

// probe returns a probe that requests the page itself. For an image of the user, whose paths are unknown, it only
// checks that the port is open.
func probe(p *resolve.Page, delay int32) *corev1.Probe {
	out := &corev1.Probe{InitialDelaySeconds: delay, PeriodSeconds: 5, TimeoutSeconds: 5, FailureThreshold: 3}
	port := intstr.FromInt32(p.Port)
	if p.Custom {
		out.TCPSocket = &corev1.TCPSocketAction{Port: port}
		return out
	}
	out.HTTPGet = &corev1.HTTPGetAction{Path: "/", Port: port, Scheme: corev1.URISchemeHTTP}
	return out
}

// layered merges maps, later ones winning.
func layered(layers ...map[string]string) map[string]string {
	out := map[string]string{}
	for _, layer := range layers {
		maps.Copy(out, layer)
	}
	return out
}

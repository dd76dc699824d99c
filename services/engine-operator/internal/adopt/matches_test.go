package adopt

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// running returns a Deployment of an earlier operator with the defaults of the API server.
func running() *appsv1.Deployment {
	d := &appsv1.Deployment{}
	d.Spec.Replicas = new(int32(2))
	d.Spec.Template.Labels = map[string]string{"firebolt.io/component": "gateway", "team": "data"}
	d.Spec.Template.Spec = corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyAlways, NodeSelector: map[string]string{"pool": "edge"},
		Tolerations: []corev1.Toleration{{Key: "edge", Operator: corev1.TolerationOpExists}},
		Containers: []corev1.Container{
			{
				Name: "envoy", Image: "envoy:1", Args: []string{"-c", "/etc/other.yaml"}, TerminationMessagePath: "/dev/termination-log",
				Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}},
			},
			{Name: "wake-agent", Image: "agent:1"},
		},
	}
	return d
}

func TestMatchesSpec(t *testing.T) {
	user := func(change func(*corev1.PodTemplateSpec)) *corev1.PodTemplateSpec {
		t := &corev1.PodTemplateSpec{}
		change(t)
		return t
	}
	container := func(c corev1.Container) *corev1.PodTemplateSpec {
		return user(func(t *corev1.PodTemplateSpec) { t.Spec.Containers = []corev1.Container{c} })
	}
	cases := map[string]struct {
		user     *corev1.PodTemplateSpec
		replicas int32 // 2 when zero
		want     bool
	}{
		"no template":       {want: true},
		"an empty template": {user: &corev1.PodTemplateSpec{}, want: true},
		"other replicas":    {replicas: 3},
		"the running image": {user: container(corev1.Container{Name: "envoy", Image: "envoy:1"}), want: true},
		"another image":     {user: container(corev1.Container{Name: "envoy", Image: "envoy:2"})},
		"the same quantity in another format": {user: container(corev1.Container{Name: "envoy", Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1000m")},
		}}), want: true},
		"another quantity": {user: container(corev1.Container{Name: "envoy", Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")},
		}})},
		"a sidecar that is not running": {user: container(corev1.Container{Name: "log", Image: "log:1"})},
		"a label of the pods":           {user: user(func(t *corev1.PodTemplateSpec) { t.Labels = map[string]string{"team": "data"} }), want: true},
		"a label missing on the pods":   {user: user(func(t *corev1.PodTemplateSpec) { t.Labels = map[string]string{"team": "web"} })},
		"the placement of the pods": {user: user(func(t *corev1.PodTemplateSpec) {
			t.Spec.NodeSelector = map[string]string{"pool": "edge"}
			t.Spec.Tolerations = []corev1.Toleration{{Key: "edge", Operator: corev1.TolerationOpExists}}
		}), want: true},
		"a toleration missing on the pods": {user: user(func(t *corev1.PodTemplateSpec) {
			t.Spec.Tolerations = []corev1.Toleration{{Key: "other"}}
		})},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			desired := &appsv1.Deployment{}
			desired.Spec.Replicas = new(int32(2))
			if tc.replicas != 0 {
				desired.Spec.Replicas = new(tc.replicas)
			}
			if got := MatchesSpec(tc.user, desired, running()); got != tc.want {
				t.Errorf("MatchesSpec() = %v, want %v", got, tc.want)
			}
		})
	}
}

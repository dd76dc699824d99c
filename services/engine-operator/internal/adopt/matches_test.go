package adopt

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
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

// A user may have switched the database while no operator ran.
func TestMatchesDatabase(t *testing.T) {
	const own, config = "", "pensieve_lite: {host: 0.0.0.0, metadata_storage: {postgresql: {host: %s, port: 5432, database: d, schema: public}}}"
	cases := map[string]struct {
		spec, host, secret string // the hosts in the spec and in the configuration, the Secret of the pod
		want               bool
	}{
		"the own one":                            {own, "i-metadata-pg.ns.svc.cluster.local", "i-metadata-postgres-creds", true},
		"the own one by a short name":            {own, "i-metadata-pg", "i-metadata-postgres-creds", true},
		"the external one":                       {"db.example.com", "db.example.com", "db", true},
		"the own one before an external one":     {"db.example.com", "i-metadata-pg.ns", "", false},
		"another external one":                   {"db.example.com", "db2.example.com", "db", false},
		"another Secret":                         {"db.example.com", "db.example.com", "old", false},
		"an external one before the own one":     {own, "db.example.com", "", false},
		"the Secret of that":                     {own, "", "db", false},
		"a configuration in an unknown notation": {"db.example.com", "", "", true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			i := &v1alpha1.FireboltInstance{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "i"}}
			if tc.spec != own {
				i.Spec.Metadata.Postgres = &v1alpha1.PostgresSpec{
					Host: tc.spec, Port: 5432, Database: "d", Schema: "public", CredentialsSecretRef: corev1.LocalObjectReference{Name: "db"},
				}
			}
			text, live := "unknown: [", running()
			if tc.host != "" {
				text = fmt.Sprintf(config, tc.host)
			}
			if tc.secret != "" {
				live.Spec.Template.Spec.Volumes = []corev1.Volume{{Name: "postgres-creds", VolumeSource: corev1.VolumeSource{
					Secret: &corev1.SecretVolumeSource{SecretName: tc.secret},
				}}}
			}
			if got := MatchesDatabase(i, text, live); got != tc.want {
				t.Errorf("MatchesDatabase() = %v, want %v", got, tc.want)
			}
		})
	}
}

package render

import (
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
)

func TestInstanceMatchesGoldenFile(t *testing.T) {
	for _, name := range []string{"external-postgres", "own-postgres"} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join("testdata", name)
			i := read[v1alpha1.FireboltInstance](t, filepath.Join(dir, "instance.yaml"))
			m, err := MetadataOf(i, images, 1, netip.IPv4Unspecified())
			if err != nil {
				t.Fatal(err)
			}
			objects := []any{m.Config, m.Service, m.Deployment}
			if i.Spec.Metadata.Postgres == nil {
				p, err := PostgresOf(i, images, 1)
				if err != nil {
					t.Fatal(err)
				}
				objects = append(objects, PostgresCredentials(i, "0123456789abcdef01234567"), p.Service, p.StatefulSet)
			}
			golden(t, filepath.Join(dir, "objects.golden.yaml"), objects...)
		})
	}
}

// The fingerprint is that of v0.1.0-pre, which is recorded on adopted databases. With another one, the upgrade would replace their
// image by ours, which does not start on the data of another major version.
func TestDatabaseKeepsFingerprint(t *testing.T) {
	p, err := PostgresOf(read[v1alpha1.FireboltInstance](t, "testdata/own-postgres/instance.yaml"), images, 1)
	if err != nil {
		t.Fatal(err)
	}
	const want = "5f95eef74cd2e909"
	if got := p.StatefulSet.Annotations[names.AnnotationRenderingHash]; got != want {
		t.Errorf("fingerprint %s, want %s", got, want)
	}
}

// Kubernetes must not kill a database that recovers from a crash: the recovery would begin again.
func TestDatabaseMayRecoverForAnHour(t *testing.T) {
	p, err := PostgresOf(read[v1alpha1.FireboltInstance](t, "testdata/own-postgres/instance.yaml"), images, 1)
	if err != nil {
		t.Fatal(err)
	}
	probe := p.StatefulSet.Spec.Template.Spec.Containers[0].StartupProbe
	if probe == nil || time.Duration(probe.PeriodSeconds*probe.FailureThreshold)*time.Second < time.Hour {
		t.Errorf("startup probe %+v, want one that fails for an hour", probe)
	}
}

func TestMetadataListensOnIPv6(t *testing.T) {
	m, err := MetadataOf(read[v1alpha1.FireboltInstance](t, "testdata/own-postgres/instance.yaml"), images, 1, netip.IPv6Unspecified())
	if err != nil {
		t.Fatal(err)
	}
	if config := m.Config.Data["config.yaml"]; !strings.Contains(config, "  host: '::'\n") || strings.Contains(config, "0.0.0.0") {
		t.Errorf("the metadata service does not listen on :: in\n%s", config)
	}
}

// The fingerprint decides whether an adopted workload stays unchanged, so it must change with
// every change of the rendering, and only then.
func TestMetadataFingerprint(t *testing.T) {
	cases := map[string]struct {
		change func(*v1alpha1.FireboltInstance)
		image  string
		same   bool
	}{
		"the same instance":                {same: true},
		"labels of the instance":           {change: func(i *v1alpha1.FireboltInstance) { i.Labels = map[string]string{"a": "b"} }, same: true},
		"the gateway's replicas":           {change: func(i *v1alpha1.FireboltInstance) { i.Spec.Gateway.Replicas = new(int32(5)) }, same: true},
		"an empty template":                {change: func(i *v1alpha1.FireboltInstance) { i.Spec.Metadata.Template = &corev1.PodTemplateSpec{} }, same: true},
		"another image":                    {image: "example.com/metadata:2.0"},
		"another id, in the configuration": {change: func(i *v1alpha1.FireboltInstance) { i.Spec.ID = "other" }},
		"the experimental flavour":         {change: func(i *v1alpha1.FireboltInstance) { i.Spec.MetadataNG = true }},
		"a label of the pods":              {change: templated(func(t *corev1.PodTemplateSpec) { t.Labels = map[string]string{"a": "b"} })},
		"a sidecar":                        {change: templated(func(t *corev1.PodTemplateSpec) { t.Spec.Containers = []corev1.Container{{Name: "log", Image: "log"}} })},
		"an init container": {change: templated(func(t *corev1.PodTemplateSpec) {
			t.Spec.InitContainers = []corev1.Container{{Name: "wait", Image: "w"}}
		})},
		"a volume":                          {change: templated(func(t *corev1.PodTemplateSpec) { t.Spec.Volumes = []corev1.Volume{{Name: "mine"}} })},
		"a runtime class":                   {change: templated(func(t *corev1.PodTemplateSpec) { t.Spec.RuntimeClassName = new("gvisor") })},
		"a volume of a reserved name":       {change: templated(func(t *corev1.PodTemplateSpec) { t.Spec.Volumes = []corev1.Volume{{Name: "config"}} }), same: true},
		"an annotation of a reserved key":   {change: templated(func(t *corev1.PodTemplateSpec) { t.Annotations = map[string]string{names.AnnotationPodConfig: "x"} }), same: true},
		"a label that belongs to the owner": {change: templated(func(t *corev1.PodTemplateSpec) { t.Labels = map[string]string{names.LabelInstance: "x"} }), same: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			i := read[v1alpha1.FireboltInstance](t, "testdata/own-postgres/instance.yaml")
			before := hashAnnotation(t, i, images)
			in := images
			if tc.image != "" {
				in.Metadata = tc.image
			}
			if tc.change != nil {
				tc.change(i)
			}
			after := hashAnnotation(t, i, in)
			if same := before == after; same != tc.same || len(after) != 16 {
				t.Errorf("fingerprints %s and %s, want the same: %v", before, after, tc.same)
			}
		})
	}
}

func templated(change func(*corev1.PodTemplateSpec)) func(*v1alpha1.FireboltInstance) {
	return func(i *v1alpha1.FireboltInstance) {
		i.Spec.Metadata.Template = &corev1.PodTemplateSpec{}
		change(i.Spec.Metadata.Template)
	}
}

func hashAnnotation(t *testing.T, i *v1alpha1.FireboltInstance, in Images) string {
	t.Helper()
	m, err := MetadataOf(i, in, 1, netip.IPv4Unspecified())
	if err != nil {
		t.Fatal(err)
	}
	return m.Deployment.Annotations[names.AnnotationRenderingHash]
}

func TestDefect8InstanceDatabaseRetainsVolume(t *testing.T) {
	i := read[v1alpha1.FireboltInstance](t, "testdata/own-postgres/instance.yaml")
	p, err := PostgresOf(i, images, 0)
	if err != nil {
		t.Fatal(err)
	}
	policy := p.StatefulSet.Spec.PersistentVolumeClaimRetentionPolicy
	if policy == nil || policy.WhenDeleted != "Retain" || policy.WhenScaled != "Retain" {
		t.Errorf("retention policy = %+v", policy)
	}
	if s := PostgresCredentials(i, "p"); len(s.OwnerReferences) != 0 || s.Annotations[names.AnnotationInstanceID] != i.Spec.ID {
		t.Errorf("credentials %+v: they must outlive the instance and know its id", s.ObjectMeta)
	}
}

package integration

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
)

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	return u
}

func engineYAML(name, spec string) string {
	return "apiVersion: compute.firebolt.io/v1alpha1\nkind: FireboltEngine\nmetadata: {name: " + name + "}\nspec: " + spec
}

func instanceYAML(name, spec string) string {
	return "apiVersion: compute.firebolt.io/v1alpha1\nkind: FireboltInstance\nmetadata: {name: " + name + "}\nspec: " + spec
}

func TestSamplesBecomeReady(t *testing.T) {
	t.Parallel()
	s := &testEnv{api: apiServer(t)}
	s.operator = start(t, cluster.Get(t).Namespace(t))
	files, err := filepath.Glob("../config/samples/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no samples: %v", err)
	}
	for _, file := range files {
		for _, u := range manifests(t, file) {
			u.SetNamespace(s.namespace)
			if err := s.api.Create(t.Context(), u, client.FieldValidation("Strict")); err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
	}
	e, i := engineOf("sample-engine", 2), instance("sample")
	e.Namespace, i.Namespace = s.namespace, s.namespace
	expect.Condition(t, s.api, i, "Available", metav1.ConditionTrue)
	s.waitForRollout(e, v1alpha1.PhaseStable, 0)
	expect.Condition(t, s.api, e, "Available", metav1.ConditionTrue)
}

// Defect 9, including names that would break Services and pod labels later.
func TestDefect9SchemaRejectsInvalidManifestsByField(t *testing.T) {
	t.Parallel()
	c := apiServer(t)
	ns := cluster.Get(t).Namespace(t)
	cases := map[string]struct{ manifest, field string }{
		"no instance":              {engineYAML("a", "{replicas: 1}"), "spec.instanceRef"},
		"no replicas":              {engineYAML("a", "{instanceRef: i}"), "spec.replicas"},
		"negative replicas":        {engineYAML("a", "{instanceRef: i, replicas: -1}"), "spec.replicas"},
		"too many replicas":        {engineYAML("a", "{instanceRef: i, replicas: 1001}"), "spec.replicas"},
		"a duration that is none":  {engineYAML("a", "{instanceRef: i, replicas: 1, drainCheckInterval: soon}"), "spec.drainCheckInterval"},
		"a negative duration":      {engineYAML("a", "{instanceRef: i, replicas: 1, drainTimeout: -5m}"), "drainTimeout must be a duration"},
		"an endless duration":      {engineYAML("a", "{instanceRef: i, replicas: 1, progressDeadline: 99999999999h}"), "spec.progressDeadline"},
		"unknown rollout":          {engineYAML("a", "{instanceRef: i, replicas: 1, rollout: fast}"), "spec.rollout"},
		"two storage backends":     {engineYAML("a", "{instanceRef: i, replicas: 1, storage: {emptyDir: {}, hostPath: {path: /a}}}"), "spec.storage"},
		"a relative host path":     {engineYAML("a", "{instanceRef: i, replicas: 1, storage: {hostPath: {path: a}}}"), "spec.storage.hostPath.path"},
		"a config that is a list":  {engineYAML("a", "{instanceRef: i, replicas: 1, customEngineConfig: [1]}"), "spec.customEngineConfig"},
		"autoStop":                 {engineYAML("a", "{instanceRef: i, replicas: 1, autoStop: {enabled: true, activeReplicas: 1}}"), "autoStop.enabled"},
		"a name with a dot":        {engineYAML("a.b", "{instanceRef: i, replicas: 1}"), "metadata.name"},
		"a name with a digit":      {engineYAML("1a", "{instanceRef: i, replicas: 1}"), "metadata.name"},
		"a name that is too long":  {engineYAML(strings.Repeat("a", 49), "{instanceRef: i, replicas: 1}"), "metadata.name"},
		"an instance without spec": {"apiVersion: compute.firebolt.io/v1alpha1\nkind: FireboltInstance\nmetadata: {name: i}", "spec"},
		"no gateway":               {instanceYAML("i", "{metadata: {}}"), "spec.gateway"},
		"two metadata replicas":    {instanceYAML("i", "{metadata: {replicas: 2}, gateway: {}}"), "spec.metadata.replicas"},
		"auth":                     {instanceYAML("i", "{metadata: {}, gateway: {}, auth: {enabled: true}}"), "spec.auth.enabled"},
		"tls":                      {instanceYAML("i", "{metadata: {}, gateway: {}, tls: {gateway: {enabled: true, secretRef: {name: x}}}}"), "spec.tls"},
		"a hostile host": {
			instanceYAML("i", "{gateway: {}, metadata: {postgres: {host: 'a b', database: d, credentialsSecretRef: {name: x}}}}"),
			"spec.metadata.postgres.host",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			u := parse(t, tc.manifest)
			u.SetNamespace(ns)
			err := c.Create(t.Context(), u)
			if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), tc.field) {
				t.Errorf("error = %v, want Invalid with %q", err, tc.field)
			}
		})
	}
}

func TestSchemaRejectsChangesOfImmutableFields(t *testing.T) {
	t.Parallel()
	c := apiServer(t)
	ns := cluster.Get(t).Namespace(t)
	e := parse(t, engineYAML("a", "{instanceRef: i, replicas: 1}"))
	i := parse(t, instanceYAML("i", "{metadata: {}, gateway: {}}"))
	for _, u := range []*unstructured.Unstructured{e, i} {
		u.SetNamespace(ns)
		if err := c.Create(t.Context(), u); err != nil {
			t.Fatal(err)
		}
	}
	edit := func(u *unstructured.Unstructured, value string, path ...string) error {
		if err := unstructured.SetNestedField(u.Object, value, path...); err != nil {
			t.Fatal(err)
		}
		return c.Update(t.Context(), u)
	}
	if err := edit(e.DeepCopy(), "j", "spec", "instanceRef"); !apierrors.IsInvalid(err) {
		t.Errorf("another instanceRef: %v", err)
	}
	if err := edit(e, "m:1", "spec", "metadataEndpointOverride"); err != nil {
		t.Errorf("first override: %v", err)
	}
	if err := edit(e, "m:2", "spec", "metadataEndpointOverride"); !apierrors.IsInvalid(err) {
		t.Errorf("second override: %v", err)
	}
	if err := edit(i, "01J9ZZZZZZZZZZZZZZZZZZZZZZ", "spec", "id"); err != nil {
		t.Errorf("first id: %v", err)
	}
	if err := edit(i, "01J9ZZZZZZZZZZZZZZZZZZZZZY", "spec", "id"); !apierrors.IsInvalid(err) {
		t.Errorf("second id: %v", err)
	}
}

// Templates without containers and with metadata are valid: users override single
// fields of the operator's rendering.
func TestSchemaKeepsTemplateFields(t *testing.T) {
	t.Parallel()
	c := apiServer(t)
	u := parse(t, engineYAML("a", `{instanceRef: i, replicas: 1, template: {metadata: {labels: {team: shop}, annotations: {a: b}}, spec: {priorityClassName: high}}}`))
	u.SetNamespace(cluster.Get(t).Namespace(t))
	if err := c.Create(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	e := &v1alpha1.FireboltEngine{}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(u), e); err != nil {
		t.Fatal(err)
	}
	if e.Spec.Template.Labels["team"] != "shop" || e.Spec.Template.Annotations["a"] != "b" {
		t.Errorf("template metadata was pruned: %+v", e.Spec.Template.ObjectMeta)
	}
}

func TestColumnsOfKubectlGet(t *testing.T) {
	t.Parallel()
	condition := func(kind string) string { return `.status.conditions[?(@.type=="` + kind + `")].status` }
	const reason, version, age = `Reason .status.conditions[?(@.type=="Ready")].reason (wide)`, "Version .status.deployedVersion", "Age .metadata.creationTimestamp"
	for file, want := range map[string][]string{
		"fireboltengines": {
			"Replicas .spec.replicas", "Phase .status.phase", "Ready " + condition("Ready"), "Degraded " + condition("Degraded"),
			"Generation .status.activeGeneration", version, age, reason,
		},
		"fireboltinstances": {
			"Phase .status.phase", "Gateway .status.gatewayReady", "Metadata .status.metadataReady", "Ready " + condition("Ready"),
			"Degraded " + condition("Degraded"), version, age, reason,
		},
		"fireboltengineclasses": {"Bound .status.boundEngines", "Ready " + condition("Ready"), age},
	} {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := convert(manifests(t, "../config/crd/compute.firebolt.io_"+file+".yaml")[0].Object, crd); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range crd.Spec.Versions[0].AdditionalPrinterColumns {
			text := c.Name + " " + c.JSONPath
			if c.Priority > 0 {
				text += " (wide)"
			}
			got = append(got, text)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", file, diff)
		}
	}
}

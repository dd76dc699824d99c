package webhook

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	admissionregistrationv1beta1 "k8s.io/api/admissionregistration/v1beta1"
	"sigs.k8s.io/yaml"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
)

func TestManifestsMatchRegistry(t *testing.T) {
	kinds, err := registry.Load()
	if err != nil {
		t.Fatal(err)
	}
	files := Manifests(kinds.Kinds())
	if len(files) != 3 {
		t.Errorf("%d files, want 3", len(files))
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join("../../config", name))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("config/%s (run go generate ./internal/registry):\n%s", name, diff)
		}
	}
}

// decode reads the documents of a generated file strictly, in order.
func decode(t *testing.T, name string, into ...any) {
	t.Helper()
	kinds, err := registry.Load()
	if err != nil {
		t.Fatal(err)
	}
	documents := bytes.Split(Manifests(kinds.Kinds())[name], []byte("\n---\n"))
	if len(documents) != len(into) {
		t.Fatalf("%s has %d documents, want %d", name, len(documents), len(into))
	}
	for i, raw := range documents {
		if err := yaml.UnmarshalStrict(raw, into[i]); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
}

func TestPolicyVersionsAreEqual(t *testing.T) {
	var policy admissionregistrationv1.MutatingAdmissionPolicy
	var binding admissionregistrationv1.MutatingAdmissionPolicyBinding
	decode(t, "admission/manifests.yaml", &policy, &binding)
	var former admissionregistrationv1beta1.MutatingAdmissionPolicy
	var formerBinding admissionregistrationv1beta1.MutatingAdmissionPolicyBinding
	decode(t, "admission/manifests_v1beta1.yaml", &former, &formerBinding)
	for what, pair := range map[string][2]any{
		"policy": {policy.Spec, former.Spec}, "binding": {binding.Spec, formerBinding.Spec},
	} {
		one, err := yaml.Marshal(pair[0])
		if err != nil {
			t.Fatal(err)
		}
		other, err := yaml.Marshal(pair[1])
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(one), string(other)); diff != "" {
			t.Errorf("%s (-v1 +v1beta1):\n%s", what, diff)
		}
	}
	if *policy.Spec.FailurePolicy != admissionregistrationv1.Ignore || binding.Spec.PolicyName != policy.Name {
		t.Errorf("failure policy %s, binding of %q", *policy.Spec.FailurePolicy, binding.Spec.PolicyName)
	}
}

func TestPolicyAndWebhookMatchSameObjects(t *testing.T) {
	var policy admissionregistrationv1.MutatingAdmissionPolicy
	decode(t, "admission/manifests.yaml", &policy, &admissionregistrationv1.MutatingAdmissionPolicyBinding{})
	var configuration admissionregistrationv1.MutatingWebhookConfiguration
	decode(t, "webhook/manifests.yaml", &configuration)
	hook := configuration.Webhooks[0]
	if diff := cmp.Diff(policy.Spec.MatchConstraints.ResourceRules[0].RuleWithOperations, hook.Rules[0]); diff != "" {
		t.Errorf("rules (-policy +webhook):\n%s", diff)
	}
	if diff := cmp.Diff(policy.Spec.MatchConditions[0].Expression, hook.MatchConditions[0].Expression); diff != "" {
		t.Errorf("conditions (-policy +webhook):\n%s", diff)
	}
	if *hook.FailurePolicy != admissionregistrationv1.Ignore || *hook.TimeoutSeconds != 2 || configuration.Name != name {
		t.Errorf("failure policy %s, %d s, name %q", *hook.FailurePolicy, *hook.TimeoutSeconds, configuration.Name)
	}
}

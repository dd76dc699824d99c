package charts

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// Jobs have the environment of the pods, and labels and annotations of their own. No selector of the service matches their pods, and a
// policy that exists before them allows their egress.
func TestJobsHaveSettingsOfPods(t *testing.T) {
	settings := []string{
		"--set", "jobs.podLabels.team=data,jobs.podAnnotations.mesh=off,podLabels.inject=yes,podAnnotations.inject=yes,command={x}",
		"--set-json", `extraEnv=[{"name":"PROXY","valueFrom":{"secretKeyRef":{"name":"proxy","key":"url"}}}]`,
		"--set-json", `networkPolicy={"enabled":true,"egress":[{"ports":[{"port":"api"}]}]}`,
	}
	jobs := 0
	for _, service := range services {
		if service == "superset-operator" { // it has no Jobs
			continue
		}
		docs := documents(t, render(t, service, append([]string{"--values", renders(t)[service]["full"]}, settings...)...))
		for _, doc := range docs {
			if doc.GetKind() == "Job" {
				jobs++
				checkJob(t, docs, doc)
			}
		}
	}
	if jobs != 7 {
		t.Errorf("got %d Jobs, want 7", jobs)
	}
}

// checkJob checks the pod template of a Job. Jobs that run without other Secrets run without those of extraEnv too.
func checkJob(t *testing.T, docs []*unstructured.Unstructured, doc *unstructured.Unstructured) {
	t.Helper()
	job := &batchv1.Job{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(doc.Object, job); err != nil {
		t.Fatal(err)
	}
	pod := job.Spec.Template
	if pod.Labels["team"] != "data" || pod.Annotations["mesh"] != "off" || pod.Labels["inject"]+pod.Annotations["inject"] != "" {
		t.Errorf("%s: labels %v, annotations %v", job.Name, pod.Labels, pod.Annotations)
	}
	env := pod.Spec.Containers[0].Env
	if len(env) == 0 || env[0].Name != "PROXY" {
		t.Fatalf("%s: environment %v, want PROXY first", job.Name, env)
	}
	optional := strings.HasSuffix(job.Name, "-release") || strings.HasSuffix(job.Name, "-command")
	if got := env[0].ValueFrom.SecretKeyRef.Optional; (got != nil && *got) != optional {
		t.Errorf("%s: the Secret of PROXY is optional: %v, want %t", job.Name, got, optional)
	}
	if got := selecting(t, docs, pod.Labels); !slices.Equal(got, []string{"NetworkPolicy " + job.Name}) {
		t.Fatalf("%s: its pods are selected by %v, want its own policy only", job.Name, got)
	}
	checkEgress(t, find(t, docs, "NetworkPolicy", job.Name), doc)
}

// checkEgress checks that the policy of a Job has the egress of the chart and precedes the Job.
func checkEgress(t *testing.T, policy, job *unstructured.Unstructured) {
	t.Helper()
	spec, _, err := unstructured.NestedMap(policy.Object, "spec")
	if err != nil {
		t.Fatal(err)
	}
	rules := []any{map[string]any{"ports": []any{map[string]any{"port": "api"}}}}
	if !reflect.DeepEqual(spec["egress"], rules) || !reflect.DeepEqual(spec["policyTypes"], []any{"Egress"}) {
		t.Errorf("%s: policy %v", job.GetName(), spec)
	}
	on := job.GetAnnotations()["helm.sh/hook"]
	if policy.GetAnnotations()["helm.sh/hook"] != on || on != "" && weight(t, policy) >= weight(t, job) {
		t.Errorf("%s: annotations of its policy %v", job.GetName(), policy.GetAnnotations())
	}
}

// selecting returns the Services, PodDisruptionBudgets and NetworkPolicies that select pods with these labels.
func selecting(t *testing.T, docs []*unstructured.Unstructured, labels map[string]string) (out []string) {
	t.Helper()
	paths := map[string][]string{
		"Service": {"spec", "selector"}, "PodDisruptionBudget": {"spec", "selector", "matchLabels"}, "NetworkPolicy": {"spec", "podSelector", "matchLabels"},
	}
	for _, doc := range docs {
		if paths[doc.GetKind()] == nil {
			continue
		}
		selector, found, err := unstructured.NestedStringMap(doc.Object, paths[doc.GetKind()]...)
		if err != nil || !found {
			t.Fatalf("%s %s: no selector, %v", doc.GetKind(), doc.GetName(), err)
		}
		merged := maps.Clone(labels)
		maps.Copy(merged, selector)
		if maps.Equal(merged, labels) {
			out = append(out, doc.GetKind()+" "+doc.GetName())
		}
	}
	return out
}

package charts

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// Finalizers must not be added while they are removed: Helm deletes the admission objects first,
// then the service, and then runs the Job, whose permissions exist by then.
func TestUninstallOrdersHooks(t *testing.T) {
	env := map[string]int{
		"MutatingAdmissionPolicyBinding": 1, "MutatingWebhookConfiguration": 1, "ValidatingWebhookConfiguration": 1,
		"Deployment":     2,
		"ServiceAccount": 3, "NetworkPolicy": 3, "Role": 3, "RoleBinding": 3, "ClusterRole": 3, "ClusterRoleBinding": 3,
		"Job": 4,
	}
	each(t, func(t *testing.T, service, _, values string) {
		t.Helper()
		docs := documents(t, renderHooks(t, service, values))
		var hooks []*unstructured.Unstructured
		admission := 0
		for _, doc := range docs {
			switch {
			case doc.GetAnnotations()["helm.sh/hook"] == "pre-delete":
				hooks = append(hooks, doc)
			case doc.GetAnnotations()["helm.sh/hook"] == "" && env[doc.GetKind()] == 1:
				admission++
			}
		}
		if !hasFinalizers(service) {
			if len(hooks) > 0 {
				t.Errorf("got %d hooks, want none without finalizers", len(hooks))
			}
			return
		}
		slices.SortStableFunc(hooks, func(a, b *unstructured.Unstructured) int { return weight(t, a) - weight(t, b) })
		last, seen := 0, map[int]int{}
		for _, hook := range hooks {
			now := env[hook.GetKind()]
			if now < last || now == 0 {
				t.Errorf("%s %s has too late a weight", hook.GetKind(), hook.GetName())
			}
			last = now
			seen[now]++
			if now <= 2 { // Helm deletes the existing object of this name
				replaced := slices.ContainsFunc(docs, func(d *unstructured.Unstructured) bool {
					return d != hook && d.GetKind() == hook.GetKind() && d.GetName() == hook.GetName() && d.GetNamespace() == hook.GetNamespace()
				})
				if !replaced {
					t.Errorf("%s %s replaces nothing", hook.GetKind(), hook.GetName())
				}
			}
		}
		if seen[1] != admission || seen[2] != 1 || seen[4] != 1 {
			t.Errorf("%d of %d admission objects, %d Deployments, %d Jobs", seen[1], admission, seen[2], seen[4])
		}
	})
}

// A database may be removed before its ingester: the kubelet starts no pod that lacks a required Secret.
func TestUninstallRequiresNoSecret(t *testing.T) {
	each(t, func(t *testing.T, service, _, values string) {
		t.Helper()
		for _, doc := range documents(t, renderHooks(t, service, values)) {
			if doc.GetKind() != "Job" || doc.GetAnnotations()["helm.sh/hook"] != "pre-delete" {
				continue
			}
			job := &batchv1.Job{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(doc.Object, job); err != nil {
				t.Fatal(err)
			}
			pod := job.Spec.Template.Spec
			for _, v := range pod.Volumes {
				if v.Secret != nil && (v.Secret.Optional == nil || !*v.Secret.Optional) {
					t.Errorf("Job %s requires the Secret %s as a volume", job.Name, v.Secret.SecretName)
				}
			}
			for _, e := range pod.Containers[0].Env {
				if from := e.ValueFrom; from != nil && from.SecretKeyRef != nil && (from.SecretKeyRef.Optional == nil || !*from.SecretKeyRef.Optional) {
					t.Errorf("Job %s requires the Secret %s for %s", job.Name, from.SecretKeyRef.Name, e.Name)
				}
			}
		}
	})
}

// hasFinalizers reports whether objects of the service have finalizers, which hooks of its chart remove.
func hasFinalizers(service string) bool { return service == "engine-operator" || service == "ingester" }

// renderHooks is render with the hooks that Helm gets from a cluster.
func renderHooks(t *testing.T, service, values string) string {
	t.Helper()
	args := []string{"--values", values}
	if hasFinalizers(service) {
		args = append(args, "--set", "uninstall.release=true")
	}
	return render(t, service, args...)
}

// Argo CD applies the output of helm template. Of two objects with the same name it applies the last one, so that a
// placeholder of the hooks would replace the service.
func TestTemplateHasNoPlaceholders(t *testing.T) {
	each(t, func(t *testing.T, service, caseName, values string) {
		t.Helper()
		args := []string{"--values", values}
		if hasFinalizers(service) {
			args = append(args, "--set", "uninstall.release=auto")
		}
		seen := map[string]bool{}
		for _, doc := range documents(t, render(t, service, args...)) {
			id := fmt.Sprintf("%s %s/%s", doc.GroupVersionKind().GroupKind(), doc.GetNamespace(), doc.GetName())
			if seen[id] {
				t.Errorf("%s is rendered twice", id)
			}
			seen[id] = true
			if strings.Contains(doc.GetAnnotations()["helm.sh/hook"], "pre-delete") {
				t.Errorf("%s is a hook before the deletion", id)
			}
		}
		if caseName == "default" && hasFinalizers(service) && render(t, service, args...) != render(t, service, "--values", values) {
			t.Error("auto is not the default")
		}
	})
}

func weight(t *testing.T, hook *unstructured.Unstructured) int {
	t.Helper()
	n, err := strconv.Atoi(hook.GetAnnotations()["helm.sh/hook-weight"])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

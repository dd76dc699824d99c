package scenario

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flotilla-dev/flotilla/test/e2e/cluster"
	"github.com/flotilla-dev/flotilla/test/e2e/run"
)

// bindings are what gives rights to a service account.
var bindings = []schema.GroupVersionKind{
	{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "RoleBinding"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRoleBinding"},
}

// security checks the running services.
func (p *Platform) security() run.Scenario {
	return run.Scenario{
		Name: "security", Limit: 2 * time.Minute, Services: allServices(),
		Title: "The services run as nonroot with a read-only root, and their rights are those of their charts.",
		Phases: []run.Phase{
			{Name: "nonroot, read-only root", Do: func(ctx context.Context, s *run.Step) error {
				n, err := p.restricted(ctx, p.System)
				s.Note("%d containers in %s run as nonroot with a read-only root.", n, p.System)
				return err
			}},
			{Name: "rights of the charts", Do: p.rightsOfTheCharts},
		},
		Clean: func(context.Context, *run.Step) error { return nil },
	}
}

// restricted counts the containers of a namespace, and names those that may become root or write to their root.
func (p *Platform) restricted(ctx context.Context, namespace string) (int, error) {
	pods, err := p.List(ctx, cluster.Pod, namespace)
	if err != nil {
		return 0, err
	}
	if len(pods) == 0 {
		return 0, fmt.Errorf("no pods in %s", namespace)
	}
	n := 0
	var problems []error
	for i := range pods {
		containers, problem := loose(&pods[i])
		n += containers
		problems = append(problems, problem)
	}
	return n, errors.Join(problems...)
}

// loose counts a pod's containers and names those that are not restricted.
func loose(pod *unstructured.Unstructured) (int, error) {
	ofPod, _, err := unstructured.NestedBool(pod.Object, "spec", "securityContext", "runAsNonRoot")
	problems := []error{err}
	n := 0
	for _, field := range []string{"initContainers", "containers"} {
		list, _, err := unstructured.NestedSlice(pod.Object, "spec", field)
		problems = append(problems, err)
		for _, entry := range list {
			container, ok := entry.(map[string]any)
			if !ok {
				continue
			}
			n++
			nonroot, found, err := unstructured.NestedBool(container, "securityContext", "runAsNonRoot")
			readOnly, _, err2 := unstructured.NestedBool(container, "securityContext", "readOnlyRootFilesystem")
			problems = append(problems, err, err2)
			if !found {
				nonroot = ofPod
			}
			if !nonroot || !readOnly {
				problems = append(problems, fmt.Errorf("pod %s, container %v: nonroot %t, read-only root %t", pod.GetName(), container["name"], nonroot, readOnly))
			}
		}
	}
	return n, errors.Join(problems...)
}

// rightsOfTheCharts wants every binding of a service's account to be one of a chart.
func (p *Platform) rightsOfTheCharts(ctx context.Context, s *run.Step) error {
	n := 0
	var problems []error
	for _, kind := range bindings {
		items, err := p.List(ctx, kind, "")
		if err != nil {
			return err
		}
		for i := range items {
			if !bindsAccountOf(&items[i], p.System) {
				continue
			}
			n++
			if items[i].GetLabels()["app.kubernetes.io/managed-by"] != "Helm" {
				problems = append(problems, fmt.Errorf("%s %s gives rights to a service and is not of a chart", kind.Kind, items[i].GetName()))
			}
		}
	}
	if n == 0 {
		return fmt.Errorf("no account of %s has any right", p.System)
	}
	s.Note("%d bindings give rights to accounts of %s; each is one of a chart.", n, p.System)
	return errors.Join(problems...)
}

func bindsAccountOf(binding *unstructured.Unstructured, namespace string) bool {
	subjects, _, err := unstructured.NestedSlice(binding.Object, "subjects")
	if err != nil {
		return false
	}
	for _, entry := range subjects {
		if s, ok := entry.(map[string]any); ok && s["kind"] == "ServiceAccount" && s["namespace"] == namespace {
			return true
		}
	}
	return false
}

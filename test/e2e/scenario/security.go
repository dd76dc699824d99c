package scenario

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flotilla-dev/flotilla/test/e2e/run"
	"github.com/flotilla-dev/flotilla/test/e2e/scenario/platform"
)

// bindings are the kinds that grant permissions to a service account.
var bindings = []schema.GroupVersionKind{
	{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "RoleBinding"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRoleBinding"},
}

// security checks the running services.
func security(p *platform.Platform) run.Scenario {
	return run.Scenario{
		Name: "security", Limit: 2 * time.Minute, Services: platform.AllServices(),
		Title: "The services run as nonroot with a read-only root, and their accounts have only the permissions of their charts.",
		Phases: []run.Phase{
			{Name: "nonroot, read-only root", Do: func(ctx context.Context, s *run.Step) error {
				n, err := p.Restricted(ctx, p.System)
				s.Note("%d containers in %s run as nonroot with a read-only root.", n, p.System)
				return err
			}},
			{Name: "permissions of the charts", Do: func(ctx context.Context, s *run.Step) error { return checkBindings(ctx, p, s) }},
		},
		Clean: func(context.Context, *run.Step) error { return nil },
	}
}

// checkBindings returns an error if a binding of a service's account is not managed by Helm.
func checkBindings(ctx context.Context, p *platform.Platform, s *run.Step) error {
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
				problems = append(problems, fmt.Errorf("%s %s binds an account of a service and is not managed by Helm", kind.Kind, items[i].GetName()))
			}
		}
	}
	if n == 0 {
		return fmt.Errorf("no binding of an account of namespace %s", p.System)
	}
	s.Note("%d bindings grant permissions to accounts of %s; Helm manages each.", n, p.System)
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

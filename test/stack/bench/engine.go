package main

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/test/stack/benchenv"
)

var engineGroup = schema.GroupVersion{Group: "compute.firebolt.io", Version: "v1alpha1"}

var engines = fleet{
	name: "engine", new: newEngine, arrived: serves(0), roll: newImage, rolled: serves(1), raw: rawEngines, pods: 2,
	edit: func(i int) map[string]any { return map[string]any{"drainCheckEnabled": i%2 == 0} },
}

// newEngine is the workload of the budget: two replicas. The pods are simulated and have no metrics, so they
// report no queries.
func newEngine(name string) *unstructured.Unstructured {
	return object(engineGroup, "FireboltEngine", benchenv.Namespace, name, map[string]any{
		"instanceRef": "bench", "replicas": int64(2), "drainCheckEnabled": false,
		"template": template("1"),
	})
}

// template runs a version of the engine.
func template(version string) map[string]any {
	return map[string]any{"spec": map[string]any{"containers": []any{
		map[string]any{"name": "engine", "image": "ghcr.io/firebolt-db/engine:" + version},
	}}}
}

// warmUpEngines makes the instance that all engines belong to, and a first engine.
func warmUpEngines(ctx context.Context, e *benchenv.Env) error {
	if err := createSecret(ctx, e, map[string]string{"username": "firebolt", "password": "only-for-this-bench"}); err != nil {
		return err
	}
	instance := object(engineGroup, "FireboltInstance", benchenv.Namespace, "bench", map[string]any{
		"gateway": map[string]any{},
		"metadata": map[string]any{"postgres": map[string]any{
			"host": "postgres", "database": "firebolt", "credentialsSecretRef": map[string]any{"name": "bench"},
		}},
	})
	if err := e.Bring(ctx, []client.Object{instance}, e.Create, inPhase("Ready")); err != nil {
		return err
	}
	return e.WarmUp(ctx, newEngine("warm-up"), engines.arrived)
}

// newImage is a write of another version, so that each engine is rolled.
func newImage(e *benchenv.Env) benchenv.Write {
	return func(ctx context.Context, obj client.Object) error {
		patch, err := object(engineGroup, "FireboltEngine", obj.GetNamespace(), obj.GetName(), map[string]any{"template": template("2")}).MarshalJSON()
		if err != nil {
			return err
		}
		return e.Client.Patch(ctx, obj, client.RawPatch(types.MergePatchType, patch))
	}
}

// serves reports whether an engine is stable with a generation at least as new.
func serves(generation int64) func(client.Object) bool {
	return func(obj client.Object) bool {
		active, found, err := unstructured.NestedInt64(obj.(*unstructured.Unstructured).Object, "status", "activeGeneration")
		return err == nil && found && active >= generation && text(obj, "status", "phase") == "stable"
	}
}

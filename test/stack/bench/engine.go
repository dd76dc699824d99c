package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/test/stack/benchlab"
)

func object(kind, name string, spec map[string]any) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	obj.SetGroupVersionKind(schema.GroupVersionKind{Group: "compute.firebolt.io", Version: "v1alpha1", Kind: kind})
	obj.SetNamespace(benchlab.Namespace)
	obj.SetName(name)
	return obj
}

// engine is the workload of the budget: two replicas. The pods are simulated and have no metrics, so nobody can be asked
// for queries.
func engine(name string) *unstructured.Unstructured {
	return object("FireboltEngine", name, map[string]any{
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

// warmUp makes the instance that all engines belong to, and a first engine.
func warmUp(ctx context.Context, l *benchlab.Lab) error {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: benchlab.Namespace, Name: "bench"},
		StringData: map[string]string{"username": "firebolt", "password": "only-for-this-bench"},
	}
	if err := l.Client.Create(ctx, secret); err != nil {
		return fmt.Errorf("create the secret: %w", err)
	}
	instance := object("FireboltInstance", "bench", map[string]any{
		"gateway": map[string]any{},
		"metadata": map[string]any{"postgres": map[string]any{
			"host": "postgres", "database": "firebolt", "credentialsSecretRef": map[string]any{"name": "bench"},
		}},
	})
	ready := func(obj client.Object) bool { return text(obj, "status", "phase") == "Ready" }
	if err := l.Bring(ctx, []client.Object{instance}, l.Create, ready); err != nil {
		return err
	}
	return l.Rehearse(ctx, engine("warm-up"), serves(0))
}

// engines are those of the numbers from one to another.
func engines(from, to int) []client.Object {
	var objects []client.Object
	for i := from; i < to; i++ {
		objects = append(objects, engine(fmt.Sprintf("engine-%03d", i)))
	}
	return objects
}

// newImage is a write that asks for another version, so that each engine is rolled.
func newImage(l *benchlab.Lab) benchlab.Write {
	return func(ctx context.Context, obj client.Object) error {
		patch, err := (&unstructured.Unstructured{Object: map[string]any{
			"kind": "FireboltEngine", "apiVersion": "compute.firebolt.io/v1alpha1",
			"spec": map[string]any{"template": template("2")},
		}}).MarshalJSON()
		if err != nil {
			return err
		}
		return l.Client.Patch(ctx, obj, client.RawPatch(types.MergePatchType, patch))
	}
}

// serves says whether an engine is stable with a generation at least as new.
func serves(generation int64) func(client.Object) bool {
	return func(obj client.Object) bool {
		active, found, err := unstructured.NestedInt64(obj.(*unstructured.Unstructured).Object, "status", "activeGeneration")
		return err == nil && found && active >= generation && text(obj, "status", "phase") == "stable"
	}
}

func text(obj client.Object, path ...string) string {
	value, _, err := unstructured.NestedString(obj.(*unstructured.Unstructured).Object, path...)
	if err != nil {
		return ""
	}
	return value
}

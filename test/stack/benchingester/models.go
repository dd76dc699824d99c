package main

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/test/stack/benchlab"
)

const finalizer = "michelangelo/Ingester"

// model is the object of the budget: 3 labels, 2 annotations.
func model(i int) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"algorithm": "xgboost", "trainingFramework": "spark", "kind": "MODEL_KIND_BINARY_CLASSIFICATION",
		"description": fmt.Sprintf("Churn of customers, model %d", i),
		"owner":       map[string]any{"name": "ada"},
		"modelFamily": map[string]any{"name": "churn"},
		"inputSchema": map[string]any{"schemaItems": []any{map[string]any{"name": "age", "dataType": "DATA_TYPE_INT"}}},
	}}}
	obj.SetGroupVersionKind(schema.GroupVersionKind{Group: "michelangelo.api", Version: "v2", Kind: "Model"})
	obj.SetNamespace(benchlab.Namespace)
	obj.SetName(fmt.Sprintf("model-%06d", i))
	obj.SetLabels(map[string]string{"team": fmt.Sprintf("team-%d", i%100), "tier": "gold", "stage": "test"})
	obj.SetAnnotations(map[string]string{"note": "made for a benchmark", "ticket": fmt.Sprintf("ML-%d", i)})
	return obj
}

// create stores n Models in the cluster.
func create(ctx context.Context, l *benchlab.Lab, n int, withFinalizer bool) error {
	objects := make([]client.Object, 0, n)
	for i := range n {
		obj := model(i)
		if withFinalizer {
			obj.SetFinalizers([]string{finalizer})
		}
		objects = append(objects, obj)
	}
	benchlab.Note("creating %d objects", n)
	return l.Each(ctx, objects, l.Create)
}

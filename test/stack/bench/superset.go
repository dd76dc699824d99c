package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/test/stack/benchlab"
)

var supersetKind = schema.GroupVersionKind{Group: "superset.apache.org", Version: "v1alpha1", Kind: "Superset"}

// superset is the workload of the budget: web server and worker with two replicas, and beat.
func superset(name string) *unstructured.Unstructured {
	secret := func(key string) map[string]any { return map[string]any{"name": "bench", "key": key} }
	obj := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"environment":   "Staging",
		"image":         map[string]any{"repository": "apache/superset", "tag": "6.0.0"},
		"secretKeyFrom": secret("secret-key"),
		"metastore": map[string]any{
			"type": "PostgreSQL", "host": "postgres", "database": "superset", "username": "superset",
			"passwordFrom": secret("db-password"),
		},
		"valkey":       map[string]any{"host": "valkey"},
		"webServer":    map[string]any{"replicas": int64(2)},
		"celeryWorker": map[string]any{"replicas": int64(2)},
		"celeryBeat":   map[string]any{},
	}}}
	obj.SetGroupVersionKind(supersetKind)
	obj.SetNamespace(benchlab.Namespace)
	obj.SetName(name)
	return obj
}

func warmUp(ctx context.Context, l *benchlab.Lab) error {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: benchlab.Namespace, Name: "bench"},
		StringData: map[string]string{"secret-key": "only-for-this-bench", "db-password": "only-for-this-bench"},
	}
	if err := l.Client.Create(ctx, secret); err != nil {
		return fmt.Errorf("create the secret: %w", err)
	}
	return l.Rehearse(ctx, superset("warm-up"), isRunning)
}

// create measures the Supersets of the numbers from one to another.
func create(ctx context.Context, l *benchlab.Lab, from, to int) (*benchlab.Cost, error) {
	var objects []client.Object
	for i := from; i < to; i++ {
		objects = append(objects, superset(fmt.Sprintf("superset-%03d", i)))
	}
	return l.Work(ctx, objects, l.Create, isRunning)
}

func isRunning(obj client.Object) bool {
	phase, _, err := unstructured.NestedString(obj.(*unstructured.Unstructured).Object, "status", "phase")
	return err == nil && phase == "Running"
}

package main

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/test/stack/benchenv"
)

var supersetGroup = schema.GroupVersion{Group: "superset.apache.org", Version: "v1alpha1"}

var supersets = fleet{
	name: "superset", new: newSuperset, arrived: inPhase("Running"), raw: rawDeployments, pods: 5,
	edit: func(i int) map[string]any {
		return map[string]any{"networking": map[string]any{"ingress": map[string]any{"host": "edited", "annotations": map[string]any{"edit": fmt.Sprint(i)}}}}
	},
}

// newSuperset returns the workload of the budget: web server and worker with two replicas, and beat.
func newSuperset(name string) *unstructured.Unstructured {
	secret := func(key string) map[string]any { return map[string]any{"name": "bench", "key": key} }
	return benchenv.Object(supersetGroup, "Superset", benchenv.Namespace, name, map[string]any{
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
	})
}

// createSecret creates the Secret that all objects reference.
func createSecret(ctx context.Context, e *benchenv.Env, values map[string]string) error {
	for _, namespace := range []string{benchenv.Namespace, benchenv.OtherNamespace} {
		secret := &corev1.Secret{StringData: values}
		secret.Namespace, secret.Name = namespace, "bench"
		if err := e.Client.Create(ctx, secret); err != nil {
			return fmt.Errorf("create the secret: %w", err)
		}
	}
	return nil
}

func warmUpSupersets(ctx context.Context, e *benchenv.Env) error {
	err := createSecret(ctx, e, map[string]string{"secret-key": "only-for-this-bench", "db-password": "only-for-this-bench"})
	if err != nil {
		return err
	}
	return e.WarmUp(ctx, newSuperset("warm-up"), supersets.arrived)
}

// rawDeployments reports the cost of Kubernetes alone from the creation of the Deployments of n Supersets until all are
// available.
func rawDeployments(ctx context.Context, e *benchenv.Env, supersets fleet, n int, f *benchenv.Figures) error {
	var objects []client.Object
	for i := range n {
		var list appsv1.DeploymentList
		err := e.Client.List(ctx, &list, client.InNamespace(benchenv.Namespace),
			client.MatchingLabels{"superset.apache.org/parent": supersets.nameOf(i)})
		if err != nil {
			return fmt.Errorf("list deployments: %w", err)
		}
		if len(list.Items) != 3 {
			return fmt.Errorf("object %d has %d Deployments, want 3", i, len(list.Items))
		}
		for _, d := range list.Items {
			d.ObjectMeta, d.Status = rawMeta(d.Name, d.Labels), appsv1.DeploymentStatus{}
			d.Spec.Template.Spec.ServiceAccountName = ""
			d.Spec.Template.Spec.DeprecatedServiceAccount = ""
			objects = append(objects, &d)
		}
	}
	cost, err := e.Raw(ctx, n, func(ctx context.Context) error {
		return e.CreateAndWait(ctx, objects, e.Create, allAre("availableReplicas"))
	})
	if err != nil {
		return err
	}
	f.Raw(fmt.Sprintf("create%d.raw_deployments", n), cost)
	return nil
}

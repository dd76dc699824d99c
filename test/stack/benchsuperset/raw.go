package main

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const rawNamespace = "raw"

// rawDeployments stops the operator and reports what Kubernetes alone takes from the creation of the Deployments of n
// Supersets, all at once, to their being available.
func (l *lab) rawDeployments(ctx context.Context, n int, f *figures) error {
	l.leaving.Store(true)
	if err := l.operator.stop(ctx); err != nil {
		return err
	}
	objects, err := l.copies(ctx, n)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cpu, err := l.controlPlaneCPU()
	if err != nil {
		return err
	}
	start := time.Now()
	if err := l.bring(ctx, objects, isAvailable); err != nil {
		return err
	}
	elapsed := time.Since(start)
	after, err := l.controlPlaneCPU()
	if err != nil {
		return err
	}
	name := fmt.Sprintf("superset.create%d.raw_deployments_", n)
	f.report(name+"seconds", elapsed.Seconds(), "s")
	f.report(name+"control_plane_cpu_seconds_per_cr", (after-cpu)/float64(n), "s")
	return nil
}

// copies returns the Deployments of n Supersets as Kubernetes would get them from somebody else.
func (l *lab) copies(ctx context.Context, n int) ([]client.Object, error) {
	var objects []client.Object
	for i := range n {
		var list appsv1.DeploymentList
		err := l.client.List(ctx, &list, client.InNamespace(benchNamespace),
			client.MatchingLabels{"superset.apache.org/parent": fmt.Sprintf("superset-%03d", i)})
		if err != nil {
			return nil, fmt.Errorf("list deployments: %w", err)
		}
		if len(list.Items) != 3 {
			return nil, fmt.Errorf("superset %d has %d deployments", i, len(list.Items))
		}
		for _, d := range list.Items {
			objects = append(objects, raw(d))
		}
	}
	return objects, nil
}

// raw is a Deployment with the same pods that nobody but Kubernetes looks after.
func raw(d appsv1.Deployment) *appsv1.Deployment {
	d.ObjectMeta = metav1.ObjectMeta{Namespace: rawNamespace, Name: d.Name, Labels: d.Labels}
	d.Status = appsv1.DeploymentStatus{}
	d.Spec.Template.Spec.ServiceAccountName = ""
	d.Spec.Template.Spec.DeprecatedServiceAccount = ""
	return &d
}

func isAvailable(obj client.Object) bool {
	object := obj.(*unstructured.Unstructured).Object
	want, _, wantErr := unstructured.NestedInt64(object, "spec", "replicas")
	have, _, haveErr := unstructured.NestedInt64(object, "status", "availableReplicas")
	return wantErr == nil && haveErr == nil && have == want
}

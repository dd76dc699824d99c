package main

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/test/stack/benchlab"
)

// rawDeployments reports what Kubernetes alone takes from the creation of the Deployments of n Supersets, all at once, to
// their being available.
func rawDeployments(ctx context.Context, l *benchlab.Lab, n int, f *benchlab.Figures) error {
	objects, err := copies(ctx, l, n)
	if err != nil {
		return err
	}
	cost, err := l.Raw(ctx, n, func(ctx context.Context) error {
		return l.Bring(ctx, objects, l.Create, isAvailable)
	})
	if err != nil {
		return err
	}
	f.Raw(fmt.Sprintf("create%d.raw_deployments", n), cost)
	return nil
}

// copies returns the Deployments of n Supersets as Kubernetes would get them from somebody else.
func copies(ctx context.Context, l *benchlab.Lab, n int) ([]client.Object, error) {
	var objects []client.Object
	for i := range n {
		var list appsv1.DeploymentList
		err := l.Client.List(ctx, &list, client.InNamespace(benchlab.Namespace),
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
	d.ObjectMeta = metav1.ObjectMeta{Namespace: benchlab.RawNamespace, Name: d.Name, Labels: d.Labels}
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

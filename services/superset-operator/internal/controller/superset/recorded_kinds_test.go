package superset_test

import (
	"context"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
)

func recorded() []client.ObjectList {
	return []client.ObjectList{
		&v1alpha1.SupersetList{}, &appsv1.DeploymentList{}, &batchv1.JobList{}, &corev1.PodList{}, &corev1.ServiceList{},
	}
}

// record starts the history of a namespace, which must be empty.
func record(t testing.TB, namespace string) *history {
	t.Helper()
	cl, err := client.NewWithWatch(cluster.Get(t).Config, client.Options{Scheme: scheme(t)})
	if err != nil {
		t.Fatal(err)
	}
	h := &history{t: t, client: cl, namespace: namespace}
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	for _, list := range recorded() {
		if err := cl.List(ctx, list, client.InNamespace(namespace)); err != nil {
			t.Fatal(err)
		}
		// It continues after an error of the API server, whose watch cache may be late on a machine with other work.
		w, err := watchtools.NewRetryWatcherWithContext(ctx, list.GetResourceVersion(), &cache.ListWatch{
			WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
				return cl.Watch(ctx, list, client.InNamespace(namespace), &client.ListOptions{Raw: &o})
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		group.Go(func() { h.consume(ctx, w) })
	}
	t.Cleanup(func() { cancel(); group.Wait() })
	return h
}

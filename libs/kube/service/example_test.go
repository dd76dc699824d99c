package service_test

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flotilla-dev/flotilla/libs/kube/service"
)

// Example is the whole main of a service.
func ExampleMain() { //nolint:testableexamples // Main ends the process.
	service.Main(service.Spec{
		Name: "example-operator",
		Setup: func(_ context.Context, rt *service.Runtime) error {
			return ctrl.NewControllerManagedBy(rt).For(&corev1.ConfigMap{}).
				Complete(reconcile.Func(func(context.Context, ctrl.Request) (ctrl.Result, error) {
					return ctrl.Result{}, nil
				}))
		},
	})
}

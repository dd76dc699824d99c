// Command superset-operator runs Apache Superset installations on Kubernetes.
package main

import (
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flotilla-dev/flotilla/libs/kube/service"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/controller/superset"
)

func main() {
	service.Main(service.Spec{
		Name:          superset.FieldManager,
		AddToScheme:   []func(*runtime.Scheme) error{v1alpha1.AddToScheme},
		CacheOptions:  superset.CacheOptions,
		Prerequisites: superset.Needs,
		Setup:         superset.Setup,
	})
}

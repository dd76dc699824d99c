package app

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/kube/intern"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/observe"
)

// hasLabel selects objects that carry the label, whatever its value.
func hasLabel(key string) labels.Selector {
	requirement, err := labels.NewRequirement(key, selection.Exists, nil)
	if err != nil {
		return labels.Nothing() // the keys are constants of this service
	}
	return labels.NewSelector().Add(*requirement)
}

// trim empties objects that belong to no engine and no instance, and shares parts of the others.
func trim(o any) (any, error) {
	meta, ok := o.(client.Object)
	if !ok || isManaged(meta.GetLabels()) || observe.IsManaged(meta) {
		return intern.Transform(o)
	}
	meta.SetManagedFields(nil)
	meta.SetAnnotations(nil)
	switch o := o.(type) {
	case *corev1.ConfigMap:
		o.Data, o.BinaryData = nil, nil
	case *corev1.Service:
		o.Spec, o.Status = corev1.ServiceSpec{}, corev1.ServiceStatus{}
	case *appsv1.StatefulSet:
		o.Spec, o.Status = appsv1.StatefulSetSpec{}, appsv1.StatefulSetStatus{}
	case *appsv1.Deployment:
		o.Spec, o.Status = appsv1.DeploymentSpec{}, appsv1.DeploymentStatus{}
	}
	return o, nil
}

func isManaged(of map[string]string) bool {
	return of[names.LabelEngine] != "" || of[names.LabelInstance] != ""
}

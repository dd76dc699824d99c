package observe

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/component"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/names"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/snapshot"
)

// IsOrphan reports whether an object has no owner and carries all the given labels, as the remaining objects of a Superset
// that was deleted without them do. The caller has compared its name. A Deployment with another selector is not an orphan:
// the operator never created it, since selectors are immutable.
func IsOrphan(obj client.Object, labels map[string]string) bool {
	if len(obj.GetOwnerReferences()) > 0 || obj.GetDeletionTimestamp() != nil {
		return false
	}
	existing := obj.GetLabels()
	for key, value := range labels {
		if existing[key] != value {
			return false
		}
	}
	deployment, isDeployment := obj.(*appsv1.Deployment)
	return !isDeployment || hasSelector(deployment, names.Selector(labels[v1alpha1.LabelInstance], labels[v1alpha1.LabelComponent]))
}

func hasSelector(d *appsv1.Deployment, want map[string]string) bool {
	got := d.Spec.Selector
	return got != nil && len(got.MatchExpressions) == 0 && maps.Equal(got.MatchLabels, want)
}

// OfComponent reports whether a pod is of the current or a former Deployment of a component: its owner is a ReplicaSet of
// that name. Deployments and their ReplicaSets are deleted before their pods, so the owner itself may not exist.
func OfComponent(pod *corev1.Pod, superset, component string) bool {
	owner := metav1.GetControllerOf(pod)
	if owner == nil || owner.Kind != "ReplicaSet" {
		return false
	}
	hash, found := strings.CutPrefix(owner.Name, names.Component(superset, component)+"-")
	// A hash has no dash: with one, the ReplicaSet is of a Deployment whose name is longer.
	return found && !strings.Contains(hash, "-")
}

// MustDrain reports whether an object must not exist while a task that requires a drain runs: all but tasks and the
// maintenance page.
func MustDrain(obj client.Object) bool {
	name := obj.GetLabels()[v1alpha1.LabelComponent]
	return name != v1alpha1.TaskComponentValue && name != names.MaintenancePage
}

// FormerlyOwned reports whether an earlier Superset of the same name owned the object, which is garbage-collected with it.
func FormerlyOwned(obj client.Object, sup *v1alpha1.Superset) bool {
	owner := metav1.GetControllerOf(obj)
	if owner == nil || owner.Kind != v1alpha1.Kind || owner.Name != sup.Name || owner.UID == sup.UID {
		return false
	}
	version, err := schema.ParseGroupVersion(owner.APIVersion)
	return err == nil && version.Group == v1alpha1.GroupVersion.Group
}

// foreign lists the Deployments that carry the labels of the Superset's components and have or request pods, but that no
// drain removes: foreign ones, and those of a component that this release does not have.
func (r reader) foreign(ctx context.Context, s *snapshot.Snapshot) error {
	var list appsv1.DeploymentList
	// Deployments of the legacy operator have no parent label.
	err := r.List(ctx, &list, client.InNamespace(r.sup.Namespace), client.MatchingLabels{
		v1alpha1.LabelName: v1alpha1.NameValue, v1alpha1.LabelInstance: r.sup.Name,
	})
	if err != nil {
		return fmt.Errorf("list deployments: %w", err)
	}
	for i := range list.Items {
		d := &list.Items[i]
		switch owned := metav1.IsControlledBy(d, r.sup); {
		case !MustDrain(d), snapshot.Idle(d), FormerlyOwned(d, r.sup), owned && r.managed(d.Name):
		case owned:
			s.Unmanaged = append(s.Unmanaged, "Deployment "+d.Name)
		default:
			s.Foreign = append(s.Foreign, "Deployment "+d.Name)
		}
	}
	slices.Sort(s.Unmanaged)
	slices.Sort(s.Foreign)
	return nil
}

// managed reports whether a component or the maintenance page has a Deployment of this name.
func (r reader) managed(name string) bool {
	return name == names.Component(r.sup.Name, names.MaintenancePage) ||
		slices.ContainsFunc(component.All(), func(d component.Descriptor) bool { return name == names.Component(r.sup.Name, d.Name) })
}

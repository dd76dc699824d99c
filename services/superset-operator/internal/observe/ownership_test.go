package observe_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/observe"
)

func TestOfComponentComparesReplicaSetName(t *testing.T) {
	for name, tc := range map[string]struct {
		kind, owner string
		want        bool
	}{
		"its ReplicaSet":                 {"ReplicaSet", "lab-web-server-5d8f7c9b6", true},
		"of a Deployment of longer name": {"ReplicaSet", "lab-web-server-extra-5d8f7c9b6", false},
		"of another component":           {"ReplicaSet", "lab-mcp-server-5d8f7c9b6", false},
		"of a Superset of longer name":   {"ReplicaSet", "lab-2-web-server-5d8f7c9b6", false},
		"a StatefulSet of the same name": {"StatefulSet", "lab-web-server-5d8f7c9b6", false},
		"no controller":                  {},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{}
			if tc.kind != "" {
				owner := &metav1.ObjectMeta{Name: tc.owner, UID: "owner"}
				pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, appsv1.SchemeGroupVersion.WithKind(tc.kind))}
			}
			if got := observe.OfComponent(pod, "lab", "web-server"); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

func TestFormerlyOwnedComparesGroup(t *testing.T) {
	sup := &v1alpha1.Superset{ObjectMeta: metav1.ObjectMeta{Name: "lab", UID: "new"}}
	for name, tc := range map[string]struct {
		group, owner, uid string
		want              bool
	}{
		"its predecessor":                      {v1alpha1.GroupVersion.Group, "lab", "old", true},
		"itself":                               {v1alpha1.GroupVersion.Group, "lab", "new", false},
		"another Superset":                     {v1alpha1.GroupVersion.Group, "sales", "old", false},
		"a Superset of another vendor's group": {"superset.example.com", "lab", "old", false},
	} {
		owner := &metav1.ObjectMeta{Name: tc.owner, UID: types.UID(tc.uid)}
		kind := schema.GroupVersionKind{Group: tc.group, Version: "v1", Kind: v1alpha1.Kind}
		obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, kind)}}}
		if got := observe.FormerlyOwned(obj, sup); got != tc.want {
			t.Errorf("%s: got %t, want %t", name, got, tc.want)
		}
	}
}

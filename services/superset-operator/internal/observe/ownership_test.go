package observe_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

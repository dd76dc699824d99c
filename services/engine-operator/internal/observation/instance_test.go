package observation

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/status"
)

var testTime = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

// availableComponent returns a component with one ready pod.
func availableComponent() status.Component {
	return status.Component{Desired: true, Replicas: 1, Deployment: &appsv1.Deployment{Status: appsv1.DeploymentStatus{Replicas: 1, ReadyReplicas: 1}}}
}

// unreadyAs returns a component without ready pods whose Deployment has the given reason of Progressing.
func unreadyAs(progress string) status.Component {
	c := availableComponent()
	c.Deployment.Status.ReadyReplicas = 0
	c.Deployment.Status.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: progress}}
	return c
}

func instanceWith(metadata, gateway status.Component) status.Instance {
	return status.Instance{
		Object:   &v1alpha1.FireboltInstance{ObjectMeta: metav1.ObjectMeta{Name: "shop", Namespace: "ns", Generation: 4}},
		Metadata: metadata, Gateway: gateway, Evaluated: true,
	}
}

func TestInstanceObservation(t *testing.T) {
	p := instanceWith(availableComponent(), failing(status.NewRejection("spec.x: no")))
	p.Gateway.Replicas = 2
	o := ForInstance(p, nil, testTime)
	var units []string
	for _, u := range o.Units {
		units = append(units, u.Name)
		if u.Role != contract.Serving || !u.Routed {
			t.Errorf("unit %s: %+v", u.Name, u)
		}
	}
	if diff := cmp.Diff([]string{"metadata", "postgres", "gateway"}, units); diff != "" {
		t.Errorf("units (-want +got):\n%s", diff)
	}
	if o.Reconcile.Outcome != contract.Failed || o.Reconcile.Reason != v1alpha1.ReasonTemplateRejected {
		t.Errorf("reconcile = %+v", o.Reconcile)
	}
	blocked := instanceWith(availableComponent(), availableComponent())
	blocked.Failure = &status.Failure{Reason: v1alpha1.ReasonDeletionBlocked}
	if got := ForInstance(blocked, nil, testTime).Reconcile.Outcome; got != contract.Succeeded {
		t.Errorf("a deletion that waits for engines is %s", got)
	}
}

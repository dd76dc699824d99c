package status

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/libs/conditions/transition"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
)

var testTime = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

// available returns a component with one ready pod.
func available() Component {
	return Component{Desired: true, Replicas: 1, Deployment: &appsv1.Deployment{Status: appsv1.DeploymentStatus{Replicas: 1, ReadyReplicas: 1}}}
}

// unreadyAs returns a component without ready pods whose Deployment has the given reason of Progressing.
func unreadyAs(progress string) Component {
	c := available()
	c.Deployment.Status.ReadyReplicas = 0
	c.Deployment.Status.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: progress}}
	return c
}

func failedWith(c Component, reason string, terminal bool) Component {
	c.Failure = &Failure{Reason: reason, Message: "the cause", Terminal: terminal}
	return c
}

func instanceWith(metadata, gateway Component) Instance {
	return Instance{
		Object:   &v1alpha1.FireboltInstance{ObjectMeta: metav1.ObjectMeta{Name: "shop", Namespace: "ns", Generation: 4}},
		Metadata: metadata, Gateway: gateway, Evaluated: true,
	}
}

func TestInstanceReadyAggregatesComponents(t *testing.T) {
	absent := Component{Replicas: 1}
	progressing := unreadyAs("ReplicaSetUpdated")
	progressing.Deployment.Status.Conditions = append(progressing.Deployment.Status.Conditions,
		appsv1.DeploymentCondition{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Message: "exceeded quota"})
	scalingDown := available()
	scalingDown.Replicas = 0
	stopped := Component{Desired: true, Deployment: &appsv1.Deployment{}}
	cases := map[string]struct {
		in            Instance
		ready, reason string
		text          string // in the message
	}{
		"both ready":                        {instanceWith(available(), available()), "True", v1alpha1.ReasonAllComponentsReady, "All components are ready."},
		"nothing observed":                  {instanceWith(absent, absent), "False", v1alpha1.ReasonInitializing, "Metadata: "},
		"gateway not observed":              {instanceWith(available(), absent), "False", v1alpha1.ReasonInitializing, "Gateway: "},
		"gateway being created":             {instanceWith(available(), Component{Desired: true, Replicas: 2}), "False", v1alpha1.ReasonProvisioning, "Gateway: The gateway has no ready pod."},
		"metadata before gateway":           {instanceWith(unreadyAs("NewReplicaSetCreated"), failedWith(available(), v1alpha1.ReasonEnsureFailed, false)), "False", v1alpha1.ReasonProvisioning, "Metadata: "},
		"pods no longer ready":              {instanceWith(available(), unreadyAs("NewReplicaSetAvailable")), "False", v1alpha1.ReasonProbeFailed, "Gateway: "},
		"pods past their progress deadline": {instanceWith(available(), unreadyAs("ProgressDeadlineExceeded")), "False", v1alpha1.ReasonProbeFailed, "Gateway: "},
		"pods cannot be created":            {instanceWith(progressing, available()), "False", v1alpha1.ReasonProvisioning, "exceeded quota"},
		"a failed component":                {instanceWith(available(), failedWith(available(), v1alpha1.ReasonTemplateRejected, true)), "False", v1alpha1.ReasonTemplateRejected, "Gateway: the cause"},
		"pods terminating":                  {instanceWith(scalingDown, stopped), "False", v1alpha1.ReasonStopping, "terminating"},
		"all stopped":                       {instanceWith(stopped, stopped), "False", v1alpha1.ReasonStopped, "stopped"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := meta.FindStatusCondition(tc.in.Next(testTime).Conditions, v1alpha1.ConditionReady)
			if string(got.Status) != tc.ready || got.Reason != tc.reason || !strings.Contains(got.Message, tc.text) || got.ObservedGeneration != 4 {
				t.Errorf("Ready = %+v, want %s/%s with %q of generation 4", *got, tc.ready, tc.reason, tc.text)
			}
		})
	}
}

// Engines and clients depend on the running components, even if the spec is invalid.
func TestEndpointsListRunningComponents(t *testing.T) {
	notSupported := instanceWith(available(), available())
	notSupported.Failure = &Failure{Reason: v1alpha1.ReasonNotSupported, Terminal: true}
	blocked := instanceWith(available(), available())
	blocked.Failure = &Failure{Reason: v1alpha1.ReasonDeletionBlocked}
	zero := available()
	zero.Replicas = 0
	cases := map[string]struct {
		in                Instance
		metadata, gateway bool
	}{
		"both answer":                            {instanceWith(available(), available()), true, true},
		"the gateway is down":                    {instanceWith(available(), unreadyAs("")), true, false},
		"metadata is down":                       {instanceWith(unreadyAs(""), available()), false, true},
		"a rejected template over a running one": {instanceWith(failedWith(available(), v1alpha1.ReasonTemplateRejected, true), failedWith(available(), v1alpha1.ReasonTemplateRejected, true)), true, true},
		"a rejected template and nothing runs":   {instanceWith(failedWith(Component{}, v1alpha1.ReasonTemplateRejected, true), available()), false, true},
		"an error of the API server":             {instanceWith(failedWith(available(), v1alpha1.ReasonEnsureFailed, false), available()), true, true},
		"credentials that do not exist":          {instanceWith(failedWith(available(), v1alpha1.ReasonPostgresSecretPreflightFailed, false), available()), false, true},
		"a feature that is not supported":        {notSupported, false, true},
		"a deletion that engines block":          {blocked, true, true},
		"pods of a stopped one are ending":       {instanceWith(zero, zero), false, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := tc.in.Next(testTime)
			want := [2]string{}
			if tc.metadata {
				want[0] = "shop-metadata.ns.svc.cluster.local:7000"
			}
			if tc.gateway {
				want[1] = "shop-gateway.ns.svc.cluster.local"
			}
			if diff := cmp.Diff(want, [2]string{got.MetadataEndpoint, got.GatewayEndpoint}); diff != "" {
				t.Errorf("endpoints (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDefect8InstanceEntersAndLeavesFailedPhase(t *testing.T) {
	rejected := instanceWith(available(), failedWith(available(), v1alpha1.ReasonTemplateRejected, true))
	cases := map[string]struct {
		was  []v1alpha1.InstancePhase
		in   Instance
		want v1alpha1.InstancePhase
	}{
		"a new instance being created":                       {nil, instanceWith(unreadyAs(""), available()), v1alpha1.InstanceProvisioning},
		"a new instance with an invalid template failed":     {nil, rejected, v1alpha1.InstanceFailed},
		"a serving instance with an invalid template failed": {[]v1alpha1.InstancePhase{v1alpha1.InstanceReady}, rejected, v1alpha1.InstanceFailed},
		"a transient failure does not fail the instance":     {[]v1alpha1.InstancePhase{v1alpha1.InstanceReady}, instanceWith(available(), failedWith(available(), v1alpha1.ReasonEnsureFailed, false)), v1alpha1.InstanceDegraded},
		"a component is down":                                {[]v1alpha1.InstancePhase{v1alpha1.InstanceReady}, instanceWith(available(), unreadyAs("")), v1alpha1.InstanceDegraded},
		"it stays degraded":                                  {[]v1alpha1.InstancePhase{v1alpha1.InstanceReady, v1alpha1.InstanceDegraded}, instanceWith(available(), unreadyAs("")), v1alpha1.InstanceDegraded},
		"it stays failed":                                    {[]v1alpha1.InstancePhase{v1alpha1.InstanceReady, v1alpha1.InstanceFailed}, rejected, v1alpha1.InstanceFailed},
		"fixed and ready":                                    {[]v1alpha1.InstancePhase{v1alpha1.InstanceFailed}, instanceWith(available(), available()), v1alpha1.InstanceReady},
		"fixed, never served, still being created":           {[]v1alpha1.InstancePhase{v1alpha1.InstanceProvisioning, v1alpha1.InstanceFailed}, instanceWith(unreadyAs(""), available()), v1alpha1.InstanceProvisioning},
		"fixed, served before, not yet ready again":          {[]v1alpha1.InstancePhase{v1alpha1.InstanceReady, v1alpha1.InstanceFailed}, instanceWith(unreadyAs(""), available()), v1alpha1.InstanceDegraded},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.in.Object = tc.in.Object.DeepCopy() // some cases are made from the same one
			before := len(tc.was)
			for _, phase := range tc.was {
				st := &tc.in.Object.Status
				st.Phase, st.Transitions = phase, transition.Append(st.Transitions, string(phase), "r", "m", testTime)
			}
			was := tc.in.Object.Status.Phase
			got := tc.in.Next(testTime)
			if got.Phase != tc.want {
				t.Fatalf("phase = %s, want %s", got.Phase, tc.want)
			}
			if added := len(got.Transitions) - before; added != map[bool]int{true: 1, false: 0}[was != tc.want] {
				t.Errorf("%d transitions were added from %q to %q", added, was, got.Phase)
			}
			if last := got.Transitions[len(got.Transitions)-1]; tc.want == v1alpha1.InstanceFailed && was != tc.want && last.Reason != v1alpha1.ReasonTemplateRejected {
				t.Errorf("transition %+v does not name the cause", last)
			}
		})
	}
}

func TestUnfinishedReconcileKeepsObservedGeneration(t *testing.T) {
	p := instanceWith(available(), available())
	p.Evaluated = false
	p.Object.Status.ObservedGeneration = 3
	for _, c := range p.Next(testTime).Conditions {
		if c.ObservedGeneration != 3 {
			t.Errorf("%s is of generation %d, want 3", c.Type, c.ObservedGeneration)
		}
	}
}

func TestInstanceStatusKeepsUnchangedStatus(t *testing.T) {
	p := instanceWith(available(), unreadyAs("NewReplicaSetAvailable"))
	p.Object.Status = p.Next(testTime)
	if diff := cmp.Diff(p.Object.Status, p.Next(testTime.Add(time.Hour))); diff != "" {
		t.Errorf("an hour later (-want +got):\n%s", diff)
	}
}

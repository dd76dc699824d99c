package statusevents

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/libs/conditions/transition"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
)

// instance returns an instance in a phase with conditions, with a transition if from is not empty.
func instance(from, phase v1alpha1.InstancePhase, reason, message string, conditions ...metav1.Condition) *v1alpha1.FireboltInstance {
	var ring []transition.Entry
	if from == v1alpha1.InstanceReady {
		ring = transition.Append(ring, string(v1alpha1.InstanceProvisioning), "", "", second(0))
	}
	if from != "" {
		ring = transition.Append(ring, string(from), "", "", second(1))
	}
	ring = transition.Append(ring, string(phase), reason, message, second(2))
	return &v1alpha1.FireboltInstance{Status: v1alpha1.FireboltInstanceStatus{Phase: phase, Transitions: ring, Conditions: conditions}}
}

func conditionTrue(kind, reason, message string) metav1.Condition {
	status := metav1.ConditionFalse
	if reason == v1alpha1.ReasonAllComponentsReady {
		status = metav1.ConditionTrue
	}
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message}
}

func TestInstanceEvents(t *testing.T) {
	const ready, metadata, gateway = v1alpha1.ConditionReady, v1alpha1.ConditionMetadataReady, v1alpha1.ConditionGatewayReady
	provisioning := instance("", v1alpha1.InstanceProvisioning, v1alpha1.ReasonProvisioning, "Metadata: no pod yet.",
		conditionTrue(ready, v1alpha1.ReasonProvisioning, "Metadata: no pod yet."), conditionTrue(metadata, v1alpha1.ReasonProvisioning, "no pod yet."), conditionTrue(gateway, v1alpha1.ReasonProvisioning, "no Envoy yet."))
	readyInstance := instance(v1alpha1.InstanceProvisioning, v1alpha1.InstanceReady, v1alpha1.ReasonAllComponentsReady, "All is well.",
		conditionTrue(ready, v1alpha1.ReasonAllComponentsReady, "All is well."), conditionTrue(metadata, v1alpha1.ReasonAllComponentsReady, "Metadata answers."), conditionTrue(gateway, v1alpha1.ReasonAllComponentsReady, "Gateway answers."))
	notReady := instance(v1alpha1.InstanceReady, v1alpha1.InstanceDegraded, v1alpha1.ReasonProvisioning, "Metadata: no pod any more.",
		conditionTrue(ready, v1alpha1.ReasonProvisioning, "Metadata: no pod any more."), conditionTrue(metadata, v1alpha1.ReasonProvisioning, "no pod any more."), conditionTrue(gateway, v1alpha1.ReasonProvisioning, "no Envoy."))
	cases := map[string]struct {
		before, after *v1alpha1.FireboltInstance
		want          []Event
	}{
		"it is new": {&v1alpha1.FireboltInstance{}, provisioning, []Event{
			{Reason: "Provisioning", Message: "Phase Provisioning, was none. Metadata: no pod yet."},
		}},
		"it becomes ready": {provisioning, readyInstance, []Event{
			{Reason: "AllComponentsReady", Message: "Phase Ready, was Provisioning. All is well."},
			{Reason: "MetadataReady", Message: "Metadata answers."},
			{Reason: "GatewayReady", Message: "Gateway answers."},
		}},
		"it loses two components, one of which the phase explains": {readyInstance, notReady, []Event{
			{Warning: true, Reason: "Provisioning", Message: "Phase Degraded, was Ready. Metadata: no pod any more."},
			{Warning: true, Reason: "GatewayNotReady", Message: "no Envoy."},
		}},
		"the credentials are missing while it is made": {
			provisioning,
			instance("", v1alpha1.InstanceProvisioning, v1alpha1.ReasonProvisioning, "", conditionTrue(metadata, v1alpha1.ReasonPostgresSecretPreflightFailed, "Secret \"s\" has no password.")),
			[]Event{{Warning: true, Reason: "MetadataPostgresSecretPreflightFailed", Message: "Secret \"s\" has no password."}},
		},
		"it cannot become ready": {provisioning, instance(v1alpha1.InstanceProvisioning, v1alpha1.InstanceFailed, v1alpha1.ReasonPostgresCredentialsLost, "Gone."), []Event{
			{Warning: true, Reason: "PostgresCredentialsLost", Message: "Phase Failed, was Provisioning. Gone."},
		}},
		"its deletion is blocked": {readyInstance, instance(v1alpha1.InstanceProvisioning, v1alpha1.InstanceReady, "", "", conditionTrue(ready, v1alpha1.ReasonDeletionBlocked, "2 engines use it.")), []Event{
			{Warning: true, Reason: "DeletionBlocked", Message: "2 engines use it."},
		}},
		"its deletion is blocked, also in the phase": {readyInstance, instance(v1alpha1.InstanceReady, v1alpha1.InstanceDegraded, v1alpha1.ReasonDeletionBlocked, "2 engines use it.", conditionTrue(ready, v1alpha1.ReasonDeletionBlocked, "2 engines use it.")), []Event{
			{Warning: true, Reason: "DeletionBlocked", Message: "Phase Degraded, was Ready. 2 engines use it."},
		}},
		"it is stopped": {readyInstance, instance(v1alpha1.InstanceProvisioning, v1alpha1.InstanceReady, "", "", conditionTrue(metadata, v1alpha1.ReasonStopped, "Stopped by annotation.")), []Event{
			{Reason: "MetadataStopped", Message: "Stopped by annotation."},
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Instance(tc.before, tc.after)); diff != "" {
				t.Errorf("events differ (-want +got):\n%s", diff)
			}
			if repeated := Instance(tc.after, tc.after); len(repeated) > 0 {
				t.Errorf("reported again: %+v", repeated)
			}
		})
	}
}

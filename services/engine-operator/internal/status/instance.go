package status

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/libs/conditions/transition"
	"github.com/flotilla-dev/flotilla/libs/contract"
	kubeobserve "github.com/flotilla-dev/flotilla/libs/kube/observe"
	v1 "github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
)

var instanceConditions = []string{v1.ConditionReady, v1.ConditionMetadataReady, v1.ConditionGatewayReady}

// Instance is what a pass over an instance found out.
type Instance struct {
	Object *v1.FireboltInstance
	// Metadata is the Deployment as it was seen; Postgres the operator's own database, nil
	// when the spec names an external one or when it does not exist.
	Metadata *appsv1.Deployment
	Postgres *appsv1.StatefulSet
	// Replicas is what metadata and database are meant to have: 1, or 0 when stopped.
	Replicas int32
	// Trouble explains why metadata is not ready, when the pass knows better than the Deployment.
	TroubleReason, Trouble string
	// Unsupported names a field that asks for what this release cannot do.
	Unsupported string
	// Applied is true when everything was applied as the spec asks.
	Applied bool
}

// Next returns the whole set of status fields that the operator owns.
func (p Instance) Next(now time.Time) v1.FireboltInstanceStatus {
	was := p.Object.Status
	out := *was.DeepCopy()
	out.Conditions = own(was.Conditions, instanceConditions)

	metadata := metav1.Condition{Type: v1.ConditionMetadataReady, Status: metav1.ConditionFalse}
	metadata.Reason, metadata.Message = p.metadata()
	out.MetadataReady = metadata.Reason == v1.ReasonAllComponentsReady
	out.MetadataEndpoint = ""
	if out.MetadataReady {
		metadata.Status = metav1.ConditionTrue
		out.MetadataEndpoint = fmt.Sprintf("%s:%d", names.ServiceHost(names.Metadata(p.Object.Name), p.Object.Namespace), names.PortMetadata)
	}
	gateway := metav1.Condition{
		Type: v1.ConditionGatewayReady, Status: metav1.ConditionFalse, Reason: v1.ReasonNotManaged,
		Message: "This release does not run a gateway: clients reach an engine through its Service <engine>-service.",
	}
	ready := metadata
	ready.Type, ready.Message = v1.ConditionReady, "Metadata: "+metadata.Message
	if p.Unsupported != "" {
		ready.Status, ready.Reason = metav1.ConditionFalse, v1.ReasonNotSupported
		ready.Message = fmt.Sprintf("This release does not support %s; the instance is left as it is.", p.Unsupported)
	}
	for _, c := range []metav1.Condition{ready, metadata, gateway} {
		c.ObservedGeneration = p.Object.Generation
		put(&out.Conditions, c, now)
	}
	out.Conditions = own(out.Conditions, instanceConditions)

	if p.Applied {
		out.ObservedGeneration = p.Object.Generation
	}
	if p.Metadata != nil && len(p.Metadata.Spec.Template.Spec.Containers) > 0 {
		out.DeployedVersion = p.Metadata.Spec.Template.Spec.Containers[0].Image
	}
	out.Phase = phaseOf(was.Phase, ready.Status == metav1.ConditionTrue)
	if out.Phase != was.Phase {
		out.Transitions = transition.Append(was.Transitions, string(out.Phase), ready.Reason, ready.Message, now)
	}
	return out
}

// phaseOf derives the phase from Ready alone; Failed stays until the spec changes it.
func phaseOf(was v1.InstancePhase, ready bool) v1.InstancePhase {
	switch {
	case ready:
		return v1.InstanceReady
	case was == v1.InstanceReady, was == v1.InstanceDegraded:
		return v1.InstanceDegraded
	}
	return v1.InstanceProvisioning
}

func (p Instance) metadata() (reason, message string) {
	switch {
	case p.Trouble != "":
		return p.TroubleReason, p.Trouble
	case p.Replicas == 0:
		return v1.ReasonStopped, fmt.Sprintf("The metadata service is stopped (annotation %s is %s).", v1.AnnotationCommand, v1.CommandStopped)
	case p.Metadata == nil || p.Metadata.Status.ReadyReplicas == 0:
		return v1.ReasonProvisioning, "The metadata service has no ready pod yet."
	}
	return v1.ReasonAllComponentsReady, "The metadata service is ready."
}

// Observation is what goes to the bus about an instance.
func (p Instance) Observation(failure error) contract.Observation {
	i := p.Object
	o := contract.Observation{
		Object:             kubeobserve.Object(i, v1.GroupVersion.WithKind("FireboltInstance")),
		ObservedGeneration: i.Status.ObservedGeneration,
		Deleting:           i.DeletionTimestamp != nil,
		Phase:              string(i.Status.Phase),
		DeployedVersion:    i.Status.DeployedVersion,
		Reconcile:          outcome(failure),
		Intent:             Intent(i),
	}
	if failure == nil && p.Trouble != "" {
		o.Reconcile = contract.Reconcile{Outcome: contract.Failed, Reason: p.TroubleReason, Message: clamp(p.Trouble)}
	}
	base := contract.Unit{Name: "metadata", Kind: "Deployment", Role: contract.Serving, Routed: true, Desired: p.Replicas}
	o.Units = append(o.Units, kubeobserve.Deployment(base, p.Metadata, kubeobserve.Seen{}))
	if i.Spec.Metadata.Postgres == nil {
		base = contract.Unit{Name: "postgres", Kind: "StatefulSet", Role: contract.Serving, Routed: true, Desired: p.Replicas}
		o.Units = append(o.Units, kubeobserve.StatefulSet(base, p.Postgres, kubeobserve.Seen{}))
	}
	return o
}

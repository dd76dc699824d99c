package status

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/flotilla-dev/flotilla/libs/conditions/transition"
	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
)

// instanceConditions are the condition types that the operator owns on an instance.
var instanceConditions = []string{v1alpha1.ConditionReady, v1alpha1.ConditionMetadataReady, v1alpha1.ConditionGatewayReady}

// components lists the conditions that Ready is computed from, in order of precedence.
var components = []struct{ condition, name string }{
	{v1alpha1.ConditionMetadataReady, "Metadata"},
	{v1alpha1.ConditionGatewayReady, "Gateway"},
}

// Instance is the result of a reconcile of an instance.
type Instance struct {
	Object            *v1alpha1.FireboltInstance
	Metadata, Gateway Component
	// Database is the operator's own PostgreSQL, nil when the spec names an external one or
	// when it does not exist; DatabaseReplicas is its desired number, 1 or 0.
	// DatabaseFailure describes why its pod cannot be created; empty when no failure is known.
	// DatabasePods are its pods, nil while it lacks none.
	Database         *appsv1.StatefulSet
	DatabaseReplicas int32
	DatabaseFailure  string
	DatabasePods     []corev1.Pod
	// Failure prevents the whole instance from being Ready, regardless of its components.
	Failure *Failure
	// Evaluated is true when the reconcile checked the whole latest generation, even if it could
	// not be applied; the conditions are then valid for it.
	Evaluated bool
	// Applied is true when the latest spec was applied completely.
	Applied bool
}

// Next returns all status fields that the operator owns. It depends only on
// the observed state and the previous phase: a cleared failure leaves no trace.
func (p Instance) Next(now time.Time) v1alpha1.FireboltInstanceStatus {
	was := p.Object.Status
	out := *was.DeepCopy()
	out.Conditions = nil
	if p.Applied {
		out.ObservedGeneration = p.Object.Generation
	}
	ready := p.conditions(&out, was.Conditions, now)
	p.endpoints(&out)
	if d := p.Metadata.Deployment; d != nil && len(d.Spec.Template.Spec.Containers) > 0 {
		out.DeployedVersion = d.Spec.Template.Spec.Containers[0].Image
	}
	terminal := p.terminal()
	out.Phase = instancePhase(was, ready.Status == metav1.ConditionTrue, terminal != nil)
	if out.Phase != was.Phase {
		reason, message := ready.Reason, ready.Message
		if out.Phase == v1alpha1.InstanceFailed {
			reason, message = terminal.Reason, terminal.Message
		}
		out.Transitions = transition.Append(was.Transitions, string(out.Phase), reason, message, now)
	}
	return out
}

// conditions sets the conditions of the components and the derived ones, and returns Ready.
func (p Instance) conditions(out *v1alpha1.FireboltInstanceStatus, was []metav1.Condition, now time.Time) metav1.Condition {
	found := map[string]*metav1.Condition{
		v1alpha1.ConditionMetadataReady: p.Metadata.condition("metadata service"),
		v1alpha1.ConditionGatewayReady:  p.Gateway.condition("gateway"),
	}
	var list []metav1.Condition
	for _, c := range components {
		if found[c.condition] != nil {
			found[c.condition].Type = c.condition
			list = append(list, *found[c.condition])
		}
	}
	ready := rollUp(list)
	if p.Failure != nil {
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, p.Failure.Reason, contract.Text(p.Failure.Message)
	}
	out.Conditions = own(was, instanceConditions) // the times of the last transitions
	for _, c := range append([]metav1.Condition{ready}, list...) {
		c.ObservedGeneration = out.ObservedGeneration
		if p.Evaluated {
			c.ObservedGeneration = p.Object.Generation
		}
		setCondition(&out.Conditions, c, now)
	}
	for _, c := range components {
		if found[c.condition] == nil {
			meta.RemoveStatusCondition(&out.Conditions, c.condition)
		}
	}
	out.Conditions = own(out.Conditions, instanceConditions)
	return ready
}

// rollUp computes Ready: a component without a condition has not been checked yet, and
// the first one that is not True sets the reason.
func rollUp(found []metav1.Condition) metav1.Condition {
	ready := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse}
	for _, c := range components {
		has := meta.FindStatusCondition(found, c.condition)
		switch {
		case has == nil:
			ready.Reason, ready.Message = v1alpha1.ReasonInitializing, c.name+": not checked yet."
			return ready
		case has.Status != metav1.ConditionTrue:
			ready.Reason, ready.Message = has.Reason, contract.Text(c.name+": "+has.Message)
			return ready
		}
	}
	ready.Status, ready.Reason, ready.Message = metav1.ConditionTrue, v1alpha1.ReasonAllComponentsReady, "All components are ready."
	return ready
}

// endpoints publishes the endpoints that respond, even while the latest
// change is rejected: engines and clients depend on the running components, not on the spec.
//
// Two failures remove the metadata endpoint, so that engines start no new generation:
// missing database credentials that the spec names, and a feature that this
// release lacks, without which engines must not run.
func (p Instance) endpoints(out *v1alpha1.FireboltInstanceStatus) {
	i := p.Object
	out.MetadataReady, out.GatewayReady = p.Metadata.hasReadyPod(), p.Gateway.hasReadyPod()
	out.MetadataEndpoint, out.GatewayEndpoint = "", ""
	if t := p.Metadata.Failure; t != nil && t.Reason == v1alpha1.ReasonPostgresSecretPreflightFailed {
		out.MetadataReady = false
	}
	if out.MetadataReady && (p.Failure == nil || p.Failure.Reason != v1alpha1.ReasonNotSupported) {
		out.MetadataEndpoint = fmt.Sprintf("%s:%d", names.ServiceHost(names.Metadata(i.Name), i.Namespace), names.PortMetadata)
	}
	if out.GatewayReady {
		out.GatewayEndpoint = names.ServiceHost(names.Gateway(i.Name), i.Namespace)
	}
}

// terminal returns the first failure that only a change by a user clears.
func (p Instance) terminal() *Failure {
	for _, t := range []*Failure{p.Failure, p.Metadata.Failure, p.Gateway.Failure} {
		if t != nil && t.Terminal {
			return t
		}
	}
	return nil
}

// instancePhase computes the phase from Ready and the previous phase. Failed ends when its cause
// clears; an instance that served before it failed is then Degraded, not Provisioning.
func instancePhase(was v1alpha1.FireboltInstanceStatus, ready, terminal bool) v1alpha1.InstancePhase {
	before := was.Phase
	if n := len(was.Transitions); before == v1alpha1.InstanceFailed && n > 0 {
		before = v1alpha1.InstancePhase(was.Transitions[n-1].From)
	}
	switch {
	case ready:
		return v1alpha1.InstanceReady
	case terminal:
		return v1alpha1.InstanceFailed
	case before == v1alpha1.InstanceReady, before == v1alpha1.InstanceDegraded:
		return v1alpha1.InstanceDegraded
	}
	return v1alpha1.InstanceProvisioning
}

package status

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/flotilla-dev/flotilla/libs/conditions/transition"
	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/engine"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
)

// engineConditions are the condition types that the operator owns on an engine.
var engineConditions = []string{
	v1alpha1.ConditionReady, v1alpha1.ConditionInstanceReady, v1alpha1.ConditionRolloutOverdue, v1alpha1.ConditionRolledBack,
}

// Engine is the result of a reconcile of an engine.
type Engine struct {
	Object *v1alpha1.FireboltEngine
	// Plan is the decision; its Next is the state to record.
	Plan engine.Plan
	// Decided is false when the reconcile made no decision about the latest generation, because it was
	// paused or failed: the conditions then keep their observedGeneration.
	Decided bool
	// InstanceError describes why the instance is not usable; it is empty if it is.
	InstanceError string
	// InstanceChecked is false in phases that do not check the instance; InstanceReady then keeps its value.
	InstanceChecked bool
	// Class describes why the engine's class is not usable; it is empty if it is.
	Class string
	// Unsupported names the features of the spec that this release lacks; it is empty if there are none.
	Unsupported string
	// ForeignFinalizers names the objects of a deleted engine that foreign finalizers hold.
	ForeignFinalizers string
	// Service describes a deleted cluster Service that foreign finalizers hold; empty without one.
	Service string
	// Rejected and Bounds describe the errors in the pod template and in the resources of
	// the engine container; they are empty if there are none.
	Rejected, Bounds string
	// Ignored names fields in the templates that have no effect.
	Ignored string
	// DrainError is set if the draining generation could not be queried.
	DrainError string
	// Overdue is true when the current generation missed its progress deadline, Expired
	// when the draining one ran queries beyond its drain timeout.
	Overdue, Expired bool
	// Unrouted is true when the cluster Service was not observed to select the serving generation.
	Unrouted bool
	// Warning describes why Kubernetes creates no pods, or rejects an object.
	Warning Warning
	// Stuck holds the pods of generations other than the current one that do not terminate.
	Stuck []corev1.Pod
	// PodsReady, PodsTotal and Replicas describe the serving generation.
	PodsReady, PodsTotal, Replicas int32
	// Image is the image of the serving generation; empty when there is none.
	Image string
}

// Next returns all status fields that the operator owns. They equal the
// current ones, except lastReconciled, unless the state changed.
func (p Engine) Next(now time.Time) v1alpha1.FireboltEngineStatus {
	was := p.Object.Status
	out := *was.DeepCopy()
	out.Conditions = own(was.Conditions, engineConditions)
	before := *out.DeepCopy()

	next := p.Plan.Next
	out.CurrentGeneration, out.ActiveGeneration, out.Phase = next.Current, next.Active, next.Phase
	out.LastAllocatedGeneration = new(next.Allocated)
	out.DrainingGeneration = nil
	if next.Draining != engine.None {
		out.DrainingGeneration = new(next.Draining)
	}
	if next.Phase == "" { // a paused engine that was never reconciled
		out.LastAllocatedGeneration, out.ActiveGeneration = nil, engine.None
	}
	out.RejectedRendering = next.Rejected
	p.timing(&out, now)
	p.scale(&out)
	if next.Phase != was.Phase {
		out.Transitions = transition.Append(was.Transitions, string(next.Phase), p.Plan.Reason, p.Plan.Message, now)
	}
	if p.Plan.Settled {
		out.ObservedGeneration = p.Object.Generation
	}
	if p.Image != "" {
		out.DeployedVersion = p.Image
	}
	p.conditions(&out, now)
	out.Conditions = own(out.Conditions, engineConditions)
	if !equality.Semantic.DeepEqual(before, out) {
		out.LastReconciled = new(metav1.NewTime(now.Truncate(time.Second)))
	}
	return out
}

// timing records the start of the rollout in progress. A new number starts one, unless it only replaces another one of the
// same rendering; a terminal phase ends it.
func (p Engine) timing(out *v1alpha1.FireboltEngineStatus, now time.Time) {
	was, next := engine.StateOf(p.Object.Status), p.Plan.Next
	switch {
	case next.Phase == "" || engine.IsTerminal(next.Phase):
		out.RolloutStartedAt = nil
	case next.Allocated > was.Allocated && !p.Plan.SameRollout || out.RolloutStartedAt == nil || rebuilds(was.Phase, next.Phase):
		out.RolloutStartedAt = new(metav1.NewTime(now.Truncate(time.Second)))
	}
}

// rebuilds reports whether a generation that has already served is being rebuilt.
func rebuilds(was, next v1alpha1.EnginePhase) bool {
	return (was == v1alpha1.PhaseDraining || was == v1alpha1.PhaseCleaning) && next == v1alpha1.PhaseCreating
}

// scale sets the fields that autoscalers read.
func (p Engine) scale(out *v1alpha1.FireboltEngineStatus) {
	out.Replicas, out.ReadyReplicas, out.Selector = p.PodsTotal, p.PodsReady, ""
	if out.ActiveGeneration != engine.None {
		out.Selector = labels.SelectorFromSet(names.GenerationLabels(p.Object.Name, out.ActiveGeneration)).String()
	}
}

// failureConditions sets the conditions that are True only after a failure.
func (p Engine) failureConditions(out *v1alpha1.FireboltEngineStatus, now time.Time) {
	overdue := metav1.Condition{
		Type: v1alpha1.ConditionRolloutOverdue, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonOnTime,
		Message: "No rollout is overdue.",
	}
	switch old := meta.FindStatusCondition(out.Conditions, v1alpha1.ConditionRolloutOverdue); {
	case p.Overdue && out.Phase == v1alpha1.PhaseCreating:
		overdue.Status, overdue.Reason = metav1.ConditionTrue, v1alpha1.ReasonProgressDeadlineExceeded
		overdue.Message = fmt.Sprintf("Generation %d is not ready within its progress deadline. Repair its pods, or change the engine or its class.", out.CurrentGeneration)
	case p.Expired && out.DrainingGeneration != nil:
		overdue.Status, overdue.Reason = metav1.ConditionTrue, v1alpha1.ReasonDrainTimeoutExceeded
		overdue.Message = fmt.Sprintf("Generation %d still ran queries when its drain timeout ended.", *out.DrainingGeneration)
	case old != nil && out.Phase == v1alpha1.PhaseCleaning:
		overdue = *old // the condition stays until the generation is deleted
	}
	p.set(out, overdue, now)
	back := metav1.Condition{
		Type: v1alpha1.ConditionRolledBack, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonNotRolledBack,
		Message: "The engine was not rolled back.",
	}
	if out.RejectedRendering != "" {
		back.Status, back.Reason = metav1.ConditionTrue, v1alpha1.ReasonProgressDeadlineExceeded
		back.Message = rolledBack(out.ActiveGeneration)
	}
	p.set(out, back, now)
}

func (p Engine) conditions(out *v1alpha1.FireboltEngineStatus, now time.Time) {
	if p.InstanceChecked {
		c := metav1.Condition{
			Type: v1alpha1.ConditionInstanceReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonInstanceReady,
			Message: fmt.Sprintf("FireboltInstance %q has an id and a metadata endpoint.", p.Object.Spec.InstanceRef),
		}
		if p.InstanceError != "" {
			c.Status, c.Reason, c.Message = metav1.ConditionFalse, v1alpha1.ReasonInstanceNotReady, p.InstanceError
		}
		p.set(out, c, now)
	}
	ready := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse}
	ready.Reason, ready.Message = p.notReady(out)
	if ready.Reason == "" {
		ready.Status, ready.Reason = metav1.ConditionTrue, v1alpha1.ReasonEngineReady
		ready.Message = fmt.Sprintf("Generation %d serves with %s.", out.ActiveGeneration, pods(p.PodsReady))
		if p.Plan.Waiting {
			ready.Message += " Its successor waits for other rollouts to end."
		}
		if p.Ignored != "" {
			ready.Message = contract.Text(ready.Message + " " + p.Ignored)
		}
	}
	if p.Warning.Reason != "" && (ready.Reason == v1alpha1.ReasonRolling || ready.Reason == v1alpha1.ReasonPodsNotReady) {
		ready.Reason, ready.Message = p.Warning.Reason, p.Warning.Message
	}
	p.set(out, ready, now)
	p.failureConditions(out, now)
}

// pods returns a number of pods as text.
func pods(n int32) string {
	if n == 1 {
		return "1 pod"
	}
	return fmt.Sprintf("%d pods", n)
}

// notReady returns reason and message of Ready=False (specification 001, "Top-level Ready
// condition"); the cases are in order of precedence.
func (p Engine) notReady(out *v1alpha1.FireboltEngineStatus) (reason, message string) {
	instance := meta.FindStatusCondition(out.Conditions, v1alpha1.ConditionInstanceReady)
	switch {
	case p.ForeignFinalizers != "":
		return v1alpha1.ReasonExternalFinalizer, p.ForeignFinalizers
	case out.Phase == "":
		return v1alpha1.ReasonInitializing, "The engine has not been reconciled yet."
	case instance == nil:
		return v1alpha1.ReasonInstanceNotReady, "The instance has not been checked yet."
	case instance.Status != metav1.ConditionTrue:
		return v1alpha1.ReasonInstanceNotReady, instance.Message
	case p.Class != "" || p.Unsupported != "" || p.Rejected != "" || p.Bounds != "":
		return p.Rejection()
	case out.Phase == v1alpha1.PhaseStopped:
		return v1alpha1.ReasonStopped, p.stopped()
	case p.DrainError != "":
		return v1alpha1.ReasonDrainCheckFailing, p.DrainError
	case out.Phase != v1alpha1.PhaseStable:
		return v1alpha1.ReasonRolling, p.rolling(out)
	}
	return p.notServing(out)
}

// notServing returns reason and message of Ready=False of an engine in phase stable.
func (p Engine) notServing(out *v1alpha1.FireboltEngineStatus) (reason, message string) {
	switch {
	case p.PodsReady < p.Replicas || p.PodsTotal != p.Replicas:
		return v1alpha1.ReasonPodsNotReady, fmt.Sprintf("Generation %d has %d of %d pods ready.", out.ActiveGeneration, p.PodsReady, p.Replicas)
	case p.Replicas == 0 && Replicas(p.Object) > 0: // the generation that the engine was stopped with
		return v1alpha1.ReasonPodsNotReady, fmt.Sprintf("Generation %d has 0 of %d pods ready.", out.ActiveGeneration, Replicas(p.Object))
	case p.Service != "":
		return v1alpha1.ReasonExternalFinalizer, p.Service
	case p.Unrouted && p.Warning.Reason != "":
		return p.Warning.Reason, p.Warning.Message
	}
	return "", ""
}

// rolling returns the message of an engine between two terminal phases.
func (p Engine) rolling(out *v1alpha1.FireboltEngineStatus) string {
	message := fmt.Sprintf("The engine is in phase %s.", out.Phase)
	if len(p.Plan.BlockedBy) > 0 {
		message += fmt.Sprintf(" Generation %d waits until generation %d is deleted.", out.CurrentGeneration, p.Plan.BlockedBy[0])
	}
	return message + podsStuck(p.Stuck)
}

// stopped returns the message of an engine that is stopped.
func (p Engine) stopped() string {
	if p.Object.Spec.Replicas == 0 {
		return "The engine is stopped: spec.replicas is 0."
	}
	return fmt.Sprintf("The engine is stopped: annotation %s is %s.", v1alpha1.AnnotationCommand, v1alpha1.CommandStopped)
}

// Rejection returns why the engine's spec is rejected, in the order of precedence of Ready.
func (p Engine) Rejection() (reason, message string) {
	switch {
	case p.Class != "":
		return v1alpha1.ReasonEngineClassUnready, p.Class
	case p.Unsupported != "":
		return v1alpha1.ReasonNotSupported, withRemedy(p.Unsupported, correctEngine)
	case p.Rejected != "":
		return v1alpha1.ReasonTemplateRejected, withRemedy(p.Rejected, correctEngine)
	case p.Bounds != "":
		return v1alpha1.ReasonBoundsExceeded, withRemedy(p.Bounds, correctEngine)
	case p.Plan.Next.Rejected != "":
		return v1alpha1.ConditionRolledBack, rolledBack(p.Plan.Next.Active)
	}
	return "", ""
}

// set sets a condition with the generation that it is valid for; the last transition time
// changes only with the status.
func (p Engine) set(out *v1alpha1.FireboltEngineStatus, c metav1.Condition, now time.Time) {
	c.ObservedGeneration = p.Object.Generation
	if !p.Decided && !p.Warning.Terminal {
		c.ObservedGeneration = out.ObservedGeneration
	}
	setCondition(&out.Conditions, c, now)
}

func setCondition(conditions *[]metav1.Condition, c metav1.Condition, now time.Time) {
	c.LastTransitionTime = metav1.NewTime(now.Truncate(time.Second))
	meta.SetStatusCondition(conditions, c)
}

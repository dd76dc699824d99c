package status

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
)

var classConditions = []string{v1alpha1.ConditionReady}

// maxListedEngines is the number of engines that the message of a blocked deletion names.
const maxListedEngines = 5

// Class is the result of a reconcile of a class.
type Class struct {
	Object *v1alpha1.FireboltEngineClass
	// Engines are the sorted names of the engines that refer to the class.
	Engines []string
	// Rejected names the fields that the template must not set, and Unsupported the features
	// of the class that this release lacks; empty if there are none.
	Rejected, Unsupported string
}

// Next returns all status fields that the operator owns. They equal the
// current ones unless the state changed.
func (p Class) Next(now time.Time) v1alpha1.FireboltEngineClassStatus {
	out := *p.Object.Status.DeepCopy()
	out.ObservedGeneration = p.Object.Generation
	out.BoundEngines = int32(min(len(p.Engines), 1<<31-1))
	ready := p.ready()
	ready.ObservedGeneration = p.Object.Generation
	setCondition(&out.Conditions, ready, now)
	out.Conditions = own(out.Conditions, classConditions)
	return out
}

// ready returns the condition Ready; the cases are in order of precedence.
func (p Class) ready() metav1.Condition {
	c := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse}
	switch {
	case p.Object.DeletionTimestamp != nil:
		c.Reason, c.Message = v1alpha1.ReasonDeletionBlocked, p.blocked()
	case p.Rejected != "":
		c.Reason, c.Message = v1alpha1.ReasonOperatorOwnedFieldSet, withRemedy(p.Rejected, correctClass)
	case p.Unsupported != "":
		c.Reason, c.Message = v1alpha1.ReasonNotSupported, withRemedy(p.Unsupported, correctClass)
	default:
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, v1alpha1.ReasonAdmissible, "The class is valid."
	}
	return c
}

// blocked returns the number of engines that block the deletion of the class, and the first names.
func (p Class) blocked() string {
	names := p.Engines
	if len(names) > maxListedEngines {
		names = names[:maxListedEngines]
	}
	more := ""
	if n := len(p.Engines) - len(names); n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	if len(p.Engines) == 1 {
		return fmt.Sprintf("Deletion is blocked: 1 engine uses the class: %s. Delete the engine, or change its class.", names[0])
	}
	return fmt.Sprintf("Deletion is blocked: %d engines use the class: %s%s. Delete the engines, or change their class.", len(p.Engines), strings.Join(names, ", "), more)
}

// Event returns the event for the change from the object's status to next: a deletion that
// is now blocked, or a template that is now invalid, or invalid for different reasons.
// It is empty otherwise, so each change has one event.
func (p Class) Event(next v1alpha1.FireboltEngineClassStatus) (reason, message string) {
	ready := meta.FindStatusCondition(next.Conditions, v1alpha1.ConditionReady)
	if ready == nil {
		return "", ""
	}
	oldReady := meta.FindStatusCondition(p.Object.Status.Conditions, v1alpha1.ConditionReady)
	entered := oldReady == nil || oldReady.Reason != ready.Reason
	switch ready.Reason {
	case v1alpha1.ReasonDeletionBlocked:
		if entered {
			return ready.Reason, ready.Message
		}
	case v1alpha1.ReasonOperatorOwnedFieldSet:
		if entered || oldReady.Message != ready.Message {
			return ready.Reason, ready.Message
		}
	}
	return "", ""
}

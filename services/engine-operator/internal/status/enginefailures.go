package status

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
)

// ClassNotFound describes the class of an engine that does not exist.
func ClassNotFound(name string) string {
	return fmt.Sprintf("FireboltEngineClass %q does not exist. Create it, or change spec.engineClassRef.", name)
}

// ClassRejected describes the class of an engine that is invalid.
func ClassRejected(name, violations string) string {
	return withRemedy("FireboltEngineClass "+name+": "+violations, correctClass)
}

// InstanceNotFound describes the instance of an engine that does not exist.
func InstanceNotFound(name string) string {
	return fmt.Sprintf("FireboltInstance %q does not exist. Create it, or change spec.instanceRef.", name)
}

// InstanceRejected describes the instance of an engine that requires an unsupported feature.
func InstanceRejected(name, violations string) string {
	return withRemedy(fmt.Sprintf("FireboltInstance %q: %s", name, violations), correctInstance)
}

// InstanceUnusable describes the instance of an engine that cannot be used for a cause of its own.
func InstanceUnusable(name, cause string) string {
	return fmt.Sprintf("FireboltInstance %q: %s", name, cause)
}

// DrainFailed describes a draining generation that cannot be queried.
func DrainFailed(generation int64, cause string) string {
	return fmt.Sprintf("Generation %d cannot report its running queries (%s) and is kept until a check succeeds. "+
		"Repair its pods, or end the drain with spec.drainTimeout or spec.rollout: recreate.", generation, cause)
}

// ChildrenHeld describes children of a deleted engine that foreign finalizers hold.
func ChildrenHeld(children []string) string {
	return withRemedy(fmt.Sprintf("Foreign finalizers block the deletion of %s.", strings.Join(children, ", ")),
		"Remove the finalizers of those objects.")
}

// ServiceHeld describes a cluster Service that was deleted and that foreign finalizers hold. Kubernetes
// still routes its traffic; it is created again after its deletion.
func ServiceHeld(name string, finalizers []string) string {
	return withRemedy(fmt.Sprintf("Service %s is being deleted, but foreign finalizers hold it: %s.", name, strings.Join(finalizers, ", ")),
		"Remove the finalizers; the operator then creates the Service again.")
}

// ApplyWarning returns the warning for an object of an engine that an API error refuses and no retry clears; it is
// empty for other errors. A quota or a policy may change; an invalid object, and one of another owner, stay
// until a user changes them.
func ApplyWarning(err error) Warning {
	message, terminal := refusal(err, correctEngine)
	if !terminal && !apierrors.IsForbidden(err) {
		return Warning{}
	}
	return Warning{Reason: v1alpha1.ReasonApplyRefused, Terminal: terminal, Message: message}
}

// rolledBack describes a rollout that was rolled back to a generation.
func rolledBack(generation int64) string {
	return fmt.Sprintf("The rollout missed its progress deadline; generation %d serves. Change the engine or its class to try again.", generation)
}

// podsStuck describes pods that do not terminate; it is empty without one.
func podsStuck(pods []corev1.Pod) string {
	if len(pods) == 0 {
		return ""
	}
	more := ""
	if n := len(pods) - 1; n > 0 {
		more = fmt.Sprintf(" (and %d more)", n)
	}
	return fmt.Sprintf(" Pod %q on node %q%s did not terminate within its grace period. If the node is lost, repair it, or power it off "+
		"and delete the Node.", pods[0].Name, pods[0].Spec.NodeName, more)
}

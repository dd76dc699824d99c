package statusevents

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
)

// component is a component of an instance with its own condition.
type component struct{ condition, name string }

var components = []component{
	{v1alpha1.ConditionMetadataReady, "Metadata"},
	{v1alpha1.ConditionGatewayReady, "Gateway"},
	{v1alpha1.ConditionAuthReady, "Auth"},
	{v1alpha1.ConditionEngineTLSReady, "EngineTLS"},
	{v1alpha1.ConditionGatewayTLSReady, "GatewayTLS"},
}

// requestedReasons are the reasons of a component that is not ready on purpose.
var requestedReasons = []string{v1alpha1.ReasonStopped, v1alpha1.ReasonStopping, v1alpha1.ReasonNotSupported, v1alpha1.ReasonDeletionBlocked}

// rejections are the reasons of Ready=False that apply to the whole instance only.
var rejections = []string{v1alpha1.ReasonDeletionBlocked, v1alpha1.ReasonNotSupported}

// Instance returns the events of one status write: changes of the phase, components that
// became ready or unready, and failures that keep the instance from matching its spec.
func Instance(before, after *v1alpha1.FireboltInstance) []Event {
	prev, cur := before.Status, after.Status
	var out list
	if prev.Phase != cur.Phase {
		e := latest(prev.Transitions, cur.Transitions, string(cur.Phase))
		warning := cur.Phase == v1alpha1.InstanceDegraded || cur.Phase == v1alpha1.InstanceFailed
		out.add(warning, orElse(e.Reason, reasonPhaseChanged), "Phase %s, was %s. %s", orElse(cur.Phase, "none"), orElse(prev.Phase, "none"), e.Message)
	}
	if c, ok := becameTrue(prev.Conditions, cur.Conditions, v1alpha1.ConditionReady, metav1.ConditionFalse); ok && slices.Contains(rejections, c.Reason) {
		out.warning(c.Reason, c.Message)
	}
	for _, c := range components {
		c.emit(&out, prev.Conditions, cur.Conditions)
	}
	return out
}

// emit emits the event of a component's change. A new component emits
// none until it is ready or fails.
func (c component) emit(out *list, before, after []metav1.Condition) {
	if cur, ok := becameTrue(before, after, c.condition, metav1.ConditionTrue); ok {
		if find(before, c.condition).Status != metav1.ConditionTrue {
			out.normal(c.condition, "%s", cur.Message)
		}
		return
	}
	cur, ok := becameTrue(before, after, c.condition, metav1.ConditionFalse)
	lost := find(before, c.condition).Status == metav1.ConditionTrue
	switch {
	case !ok || cur.Reason == v1alpha1.ReasonProvisioning && !lost || out.contains(cur.Message):
	case slices.Contains(requestedReasons, cur.Reason):
		if lost {
			out.normal(c.named(cur.Reason), "%s", cur.Message)
		}
	default:
		out.warning(c.named(cur.Reason), cur.Message)
	}
}

// named returns a reason that distinguishes the same failure of different components.
func (c component) named(reason string) string {
	if reason == v1alpha1.ReasonProvisioning {
		reason = "NotReady"
	}
	if strings.HasPrefix(reason, c.name) {
		return reason
	}
	return c.name + reason
}

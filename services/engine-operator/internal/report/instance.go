package report

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
)

// component is a part of an instance that has a condition of its own.
type component struct{ condition, name string }

var components = []component{
	{v1.ConditionMetadataReady, "Metadata"},
	{v1.ConditionGatewayReady, "Gateway"},
	{v1.ConditionAuthReady, "Auth"},
	{v1.ConditionEngineTLSReady, "EngineTLS"},
	{v1.ConditionGatewayTLSReady, "GatewayTLS"},
}

// asked are the reasons of a component that is not ready because nobody wants it to be.
var asked = []string{v1.ReasonStopped, v1.ReasonStopping, v1.ReasonNotSupported, v1.ReasonDeletionBlocked}

// refusals are reasons of the whole instance's Ready=False that no component has.
var refusals = []string{v1.ReasonDeletionBlocked, v1.ReasonNotSupported}

// Instance lists the events of one status write: changes of the phase, components that
// became ready or lost it, and what keeps the instance from being what the spec says.
func Instance(before, after *v1.FireboltInstance) []Event {
	if after == nil {
		return nil
	}
	var was v1.FireboltInstanceStatus
	if before != nil {
		was = before.Status
	}
	is := after.Status
	var out list
	if was.Phase != is.Phase {
		e := newest(was.Transitions, is.Transitions, string(is.Phase))
		warning := is.Phase == v1.InstanceDegraded || is.Phase == v1.InstanceFailed
		out.add(warning, orElse(e.Reason, reasonPhaseChanged), "Phase %s, was %s. %s", orElse(is.Phase, "none"), orElse(was.Phase, "none"), e.Message)
	}
	if c, ok := began(was.Conditions, is.Conditions, v1.ConditionReady, metav1.ConditionFalse); ok && slices.Contains(refusals, c.Reason) {
		out.warning(c.Reason, c.Message)
	}
	for _, c := range components {
		c.tell(&out, was.Conditions, is.Conditions)
	}
	return out
}

// tell words what became of a component. One that is being made for the first time is no
// news until it is ready, or in trouble.
func (c component) tell(out *list, before, after []metav1.Condition) {
	if is, ok := began(before, after, c.condition, metav1.ConditionTrue); ok {
		if find(before, c.condition).Status != metav1.ConditionTrue {
			out.normal(c.condition, "%s", is.Message)
		}
		return
	}
	is, ok := began(before, after, c.condition, metav1.ConditionFalse)
	lost := find(before, c.condition).Status == metav1.ConditionTrue
	switch {
	case !ok || is.Reason == v1.ReasonProvisioning && !lost || out.told(is.Message):
	case slices.Contains(asked, is.Reason):
		if lost {
			out.normal(c.named(is.Reason), "%s", is.Message)
		}
	default:
		out.warning(c.named(is.Reason), is.Message)
	}
}

// named tells the same trouble of two components apart.
func (c component) named(reason string) string {
	if reason == v1.ReasonProvisioning {
		reason = "NotReady"
	}
	if strings.HasPrefix(reason, c.name) {
		return reason
	}
	return c.name + reason
}

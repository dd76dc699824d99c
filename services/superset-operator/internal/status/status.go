package status

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/libs/conditions/transition"
	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/bringup"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/desired"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/lifecycle"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/snapshot"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/version"
)

// Input is the input of [For].
type Input struct {
	// Superset has the persisted status.
	Superset *v1alpha1.Superset
	Desired  *desired.State
	Snapshot *snapshot.Snapshot
	// Generations are those that applying the Deployments in this reconcile returned,
	// by component name: a snapshot of an older generation is stale.
	Generations map[string]int64
	// Applied reports whether this reconcile applied all components. Until then
	// their readiness is that of the previous version.
	Applied bool
	// Decision is nil if the tasks were not evaluated: paused or rejected.
	Decision *lifecycle.Decision
	Intent   contract.Intent
	// Failed is set if the reconcile ended with a permanent error, Incomplete if it attempted all components and could not
	// apply some objects for another reason.
	Failed, Incomplete *contract.Reconcile
	// Unattempted reports that the reconcile has not yet attempted what may have failed permanently before.
	Unattempted bool
	// Order holds which components wait for the web server.
	Order bringup.Order
	// Violations lists the contradictions in the spec, each entry with the field's path.
	Violations []string
	Now        time.Time
}

// For returns the whole set of status fields that the operator owns.
func For(in Input) (v1alpha1.SupersetStatus, error) {
	sup := in.Superset
	out := v1alpha1.SupersetStatus{
		ObservedGeneration: sup.Generation,
		Version:            sup.Spec.Image.Tag,
		DeployedVersion:    sup.Status.DeployedVersion,
		ConfigChecksum:     in.Desired.ConfigChecksum,
		LastLifecycleImage: sup.Status.LastLifecycleImage,
		Lifecycle:          sup.Status.Lifecycle.DeepCopy(),
	}
	if in.Decision != nil {
		out.Lifecycle, out.LastLifecycleImage = in.Decision.Status.DeepCopy(), in.Decision.LastImage
	}
	sum, err := components(in, &out)
	if err != nil {
		return out, err
	}
	out.Ready = fraction(sum.ready, sum.want)
	if in.Applied && sum.allReady && len(in.Desired.Components) > 0 && !maintenance(in) && !in.Intent.Stopped {
		out.DeployedVersion = version.Tag(out.LastLifecycleImage)
	}
	finishRestoring(in, &out, sum)
	change := phase(in, &out, sum)
	out.Phase = change.phase
	out.Transitions = record(sup.Status.Transitions, change, in.Now)
	out.Conditions = conditions(in)
	return out, nil
}

// totals sums up the components.
type totals struct {
	ready, want int32
	pods        int // pods that may run, terminating ones too
	allReady    bool
	notReady    []string
}

func components(in Input, out *v1alpha1.SupersetStatus) (totals, error) {
	sum := totals{allReady: true}
	for i := range in.Desired.Components {
		c := &in.Desired.Components[i]
		if out.Components == nil {
			out.Components = &v1alpha1.ComponentsStatus{}
		}
		state := component(in, c)
		var err error
		if state.AdoptedSpec, err = adopted(in, c); err != nil {
			return sum, err
		}
		*c.Descriptor.StatusRef(out.Components) = state
		sum.ready += state.ReadyReplicas
		sum.want += state.Replicas
		if in.Snapshot.Deployments[c.Slug] == nil {
			sum.want += c.Replicas
		}
		if state.Phase != v1alpha1.ComponentReady {
			sum.allReady = false
			sum.notReady = append(sum.notReady, c.Descriptor.Key)
		}
	}
	for _, pods := range in.Snapshot.Pods {
		sum.pods += snapshot.Active(pods)
	}
	return sum, nil
}

// finishRestoring ends the lifecycle once the components are restored.
func finishRestoring(in Input, out *v1alpha1.SupersetStatus, sum totals) {
	if !in.Applied || !sum.allReady || out.Lifecycle == nil {
		return
	}
	if out.Lifecycle.Phase == v1alpha1.LifecycleRestoring && !out.Lifecycle.MaintenanceActive {
		out.Lifecycle.Phase = v1alpha1.LifecycleComplete
	}
}

// owned lists the condition types that the operator writes; the field manager flotilla-conditions owns the others.
var owned = []string{v1alpha1.ConditionLifecycleComplete, v1alpha1.ConditionSuspended, v1alpha1.ConditionScheduleValid}

// Conditions lists the condition types that the operator writes.
func Conditions() []string { return slices.Clone(owned) }

// OwnedConditions returns the conditions that the operator writes.
func OwnedConditions(list []metav1.Condition) []metav1.Condition {
	return slices.DeleteFunc(slices.Clone(list), func(c metav1.Condition) bool { return !slices.Contains(owned, c.Type) })
}

// conditions returns the operator's own conditions; they keep their times while the status stays the same.
func conditions(in Input) []metav1.Condition {
	var out []metav1.Condition
	for _, kind := range owned {
		if kind == v1alpha1.ConditionScheduleValid && in.Decision != nil && in.Decision.Schedule == nil {
			continue
		}
		if old := meta.FindStatusCondition(in.Superset.Status.Conditions, kind); old != nil {
			out = append(out, *old)
		}
	}
	set := func(c metav1.Condition) {
		c.ObservedGeneration = in.Superset.Generation
		c.LastTransitionTime = metav1.NewTime(in.Now.Truncate(time.Second))
		meta.SetStatusCondition(&out, c)
	}
	switch {
	case len(in.Violations) > 0:
		set(metav1.Condition{
			Type: v1alpha1.ConditionLifecycleComplete, Status: metav1.ConditionFalse,
			Reason: v1alpha1.ReasonInvalidSpec, Message: resolve.InvalidSpecMessage(in.Violations),
		})
	case in.Decision != nil:
		complete := in.Decision.Condition
		if ignored := resolve.IgnoredFields(in.Superset); len(ignored) > 0 {
			complete.Message += " " + resolve.IgnoredFieldsMessage(ignored)
		}
		set(complete)
		if in.Decision.Schedule != nil {
			set(*in.Decision.Schedule)
		}
	}
	set(suspended(in.Intent))
	return out
}

func suspended(intent contract.Intent) metav1.Condition {
	c := metav1.Condition{
		Type: v1alpha1.ConditionSuspended, Status: metav1.ConditionFalse,
		Reason: v1alpha1.ReasonNotSuspended, Message: "Reconciliation is active.",
	}
	if !intent.Paused {
		return c
	}
	c.Status, c.Reason = metav1.ConditionTrue, v1alpha1.ReasonSuspended
	if intent.PausedBy != PausedBySpec {
		c.Reason = v1alpha1.ReasonOperatorCommand
	}
	c.Message = "Reconciliation is paused by " + intent.PausedBy + "."
	return c
}

// record appends a change of phase to the ring. Changes from Running to Degraded and
// back are omitted, because they can be flapping.
func record(ring []transition.Entry, c change, now time.Time) []transition.Entry {
	if c.phase == "" {
		return ring
	}
	if c.phase == v1alpha1.PhaseDegraded && len(ring) > 0 && ring[len(ring)-1].To == string(v1alpha1.PhaseRunning) {
		return ring
	}
	return transition.Append(ring, string(c.phase), c.reason, c.message, now)
}

func working(p v1alpha1.Phase) bool {
	return p == v1alpha1.PhaseRunning || p == v1alpha1.PhaseDegraded
}

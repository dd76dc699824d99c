package faults

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/contract"
)

// actualState is the actual state of one object.
type actualState struct {
	uid        types.UID
	generation int64
	applied    int64 // latest generation that all children have observed
	available  int32
	crashing   bool
	paused     bool
	stopped    bool
	outcome    contract.Reconcile // of the latest spec
}

const desired = 2

var succeeded = contract.Reconcile{Outcome: contract.Succeeded}

// withoutEffect are the outcomes of a spec that is read and not applied.
var withoutEffect = []contract.Reconcile{
	{Outcome: contract.Succeeded, Reason: conditions.ReasonAwaitingApproval},
	{Outcome: contract.Failed, Terminal: true, Reason: conditions.ReasonInvalidSpec},
}

// hasEffect reports whether the latest spec is applied, unless it was already.
func (t *actualState) hasEffect() bool { return !t.paused && t.outcome == succeeded }

// changeSpec changes the spec of an object, which its children observe later.
func (w *simulation) changeSpec(name string) {
	w.actual[name].generation++
	u := w.objects[name].DeepCopy()
	u.SetGeneration(w.actual[name].generation)
	w.store(u)
}

// changeIneffectively changes the spec of an object to one that takes no effect.
func (w *simulation) changeIneffectively(name string) {
	w.actual[name].outcome = withoutEffect[w.random.IntN(len(withoutEffect))]
	w.changeSpec(name)
}

// applySpec approves or corrects the latest spec, which all children observe.
func (t *actualState) applySpec() {
	if t.outcome = succeeded; t.hasEffect() {
		t.applied = t.generation
	}
}

// observation returns the operator's observation of an object.
func (w *simulation) observation(name string) contract.Observation {
	t := w.actual[name]
	want := int32(desired)
	if t.stopped {
		want = 0
	}
	u := contract.Unit{
		Name: "g1", Kind: "StatefulSet", Role: contract.Serving, Routed: true, Present: true,
		Observed: t.applied == t.generation || !t.hasEffect(), Desired: want, Current: want, Updated: want,
		Ready: min(t.available, want), Available: min(t.available, want),
	}
	if t.crashing {
		u.Failures = []contract.Failure{{Class: contract.FailureCrashLoop, Count: 1}}
	}
	return contract.Observation{
		Object: contract.Object{
			GroupVersionKind: contract.GroupVersionKind{Group: w.kind.GVK.Group, Version: w.kind.GVK.Version, Kind: w.kind.GVK.Kind},
			Namespace:        namespace, Name: name, UID: string(t.uid), Generation: t.generation,
			ResourceVersion: w.objects[name].GetResourceVersion(),
		},
		Observer: contract.Observer{Name: observerName}, ValidForSeconds: 30, ObservedGeneration: t.applied,
		ObservedAt: w.now(), // no rule reads it; here it distinguishes old and new observations
		Reconcile:  t.outcome,
		Intent:     contract.Intent{Paused: t.paused, Stopped: t.stopped},
		Units:      []contract.Unit{u},
	}
}

// compare checks the properties that must never regress, and that no condition claims more than there was.
func (w *simulation) compare(writer string, u *unstructured.Unstructured, before, after []metav1.Condition) {
	written := map[string]metav1.Condition{}
	for _, a := range after {
		written[a.Type] = a
		most := w.actual[u.GetName()].generation
		if describesWhatRuns(a.Type) {
			most = w.actual[u.GetName()].applied
		}
		if a.ObservedGeneration > most {
			w.reportViolation("B2: at %s %s wrote %s=%s/%s of %s for generation %d of %d", w.now().Format(time.TimeOnly), writer, a.Type, a.Status, a.Reason, u.GetName(), a.ObservedGeneration, most)
		}
	}
	for _, b := range before {
		a, ok := written[b.Type]
		if !ok {
			continue
		}
		least := b.ObservedGeneration
		if !describesWhatRuns(b.Type) && b.Type != conditions.TypePaused { // a spec that takes effect is covered once it is applied
			least = written[conditions.TypeAvailable].ObservedGeneration
		}
		if a.ObservedGeneration < least {
			w.reportViolation("B2: at %s %s wrote %s=%s/%s of %s for generation %d, after %s/%s for %d", w.now().Format(time.TimeOnly), writer, a.Type, a.Status, a.Reason, u.GetName(), a.ObservedGeneration, b.Status, b.Reason, least)
		}
		if a.Status == b.Status && !a.LastTransitionTime.Equal(&b.LastTransitionTime) && a.LastTransitionTime.Before(&b.LastTransitionTime) {
			w.reportViolation("B2: %s of %s is %s since %s, before since %s", a.Type, u.GetName(), a.Status, a.LastTransitionTime, b.LastTransitionTime)
		}
	}
}

// describesWhatRuns reports whether conditions of a type cover only generations that were applied.
func describesWhatRuns(conditionType string) bool {
	return conditionType == conditions.TypeAvailable || conditionType == conditions.TypeStopped
}

package ownedstatus_test

import (
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/kube/internal/apitest"
	"github.com/flotilla-dev/flotilla/libs/kube/ownedstatus"
)

func TestFieldManagersShareStatus(t *testing.T) {
	f := setUp(t)
	a, b := f.writer(operator), f.writer(aggregator)
	f.apply(a, true, apitest.ShipStatus{Phase: "Running", Conditions: conditions{condition("Ready", "True")}})
	f.apply(b, true, map[string]any{"conditions": conditions{condition("Available", "True")}})
	f.apply(a, true, apitest.ShipStatus{Phase: "Degraded", Conditions: conditions{condition("Ready", "False")}})

	f.wantConditions(condition("Ready", "False"), condition("Available", "True"))
	got := f.read()
	if got.Status.Phase != "Degraded" || got.Generation != 1 {
		t.Errorf("phase %q, generation %d", got.Status.Phase, got.Generation)
	}
}

func TestApplySkipsEqualStatus(t *testing.T) {
	owned := apitest.ShipStatus{
		Phase: "Running", Count: 7, Conditions: conditions{condition("Ready", "True")},
		Transitions: []apitest.Transition{{Seq: 1, To: "Running"}},
	}
	tests := map[string]struct {
		owned    any
		requests int64
	}{
		"as a struct":                          {owned, 0},
		"as a map":                             {map[string]any{"phase": "Running", "count": 7, "conditions": owned.Conditions, "transitions": owned.Transitions}, 0},
		"with another value":                   {map[string]any{"phase": "Failed", "count": 7, "conditions": owned.Conditions, "transitions": owned.Transitions}, 1},
		"with a shorter atomic list":           {map[string]any{"phase": "Running", "count": 7, "conditions": owned.Conditions}, 1},
		"with one condition less":              {map[string]any{"phase": "Running", "count": 7, "transitions": owned.Transitions}, 1},
		"with one condition more":              {map[string]any{"phase": "Running", "count": 7, "conditions": conditions{condition("Ready", "True"), condition("X", "True")}, "transitions": owned.Transitions}, 1},
		"with another message in a condition":  {map[string]any{"phase": "Running", "count": 7, "conditions": conditions{{Type: "Ready", Status: "True", Reason: "Because", Message: "other", LastTransitionTime: since}}, "transitions": owned.Transitions}, 1},
		"with another element of the same key": {map[string]any{"phase": "Running", "count": 7, "conditions": owned.Conditions, "transitions": []apitest.Transition{{Seq: 2, To: "Running"}}}, 1},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			f := setUp(t)
			f.apply(f.writer(aggregator), true, map[string]any{"conditions": conditions{condition("Available", "True")}})
			f.apply(f.writer(operator), true, owned)
			current := f.read()
			if n := f.c.Requests(func() {
				changed, err := f.writer(operator).Apply(t.Context(), current, tc.owned)
				if err != nil || changed != (tc.requests > 0) {
					t.Errorf("changed %v, error %v", changed, err)
				}
			}); n != tc.requests {
				t.Errorf("it cost %d requests, want %d", n, tc.requests)
			}
		})
	}
}

// A caller that waits for the event of its write would never continue.
func TestApplyReportsNoChangeOfEqualStatus(t *testing.T) {
	f := setUp(t)
	owned := apitest.ShipStatus{Phase: "Running", Conditions: conditions{condition("Ready", "True")}}
	f.apply(f.writer(operator), true, owned)
	current := f.read()
	current.SetManagedFields(nil) // as a cache may strip them
	requests := f.c.Requests(func() {
		changed, err := f.writer(operator).Apply(t.Context(), current, owned)
		if err != nil || changed {
			t.Errorf("changed %v, error %v; want no change", changed, err)
		}
	})
	if requests != 1 {
		t.Errorf("it cost %d requests, want 1", requests)
	}
}

func TestApplyRejectsStaleCache(t *testing.T) {
	tests := map[string]struct {
		reason string
		then   func(f fixture)
	}{
		"another manager wrote": {
			then: func(f fixture) {
				f.apply(f.writer(aggregator), true, map[string]any{"conditions": conditions{condition("Available", "True")}})
			},
		},
		"the spec changed": {
			then: func(f fixture) {
				s := f.read()
				s.Spec.Size = 4
				if err := f.c.Update(f.Context(), s); err != nil {
					f.Fatal(err)
				}
			},
		},
		"the object was re-created under the same name": {
			reason: "the API server ignores a uid in an apply of status",
			then: func(f fixture) {
				if err := f.c.Delete(f.Context(), f.ship()); err != nil {
					f.Fatal(err)
				}
				apitest.Create(f.T, f.c, f.ship())
			},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			f := setUp(t)
			cached := f.read()
			tc.then(f)
			changed, err := f.writer(operator).Apply(t.Context(), cached, apitest.ShipStatus{Phase: "Running"})
			if changed || !errors.Is(err, ownedstatus.ErrStale) {
				t.Errorf("changed %v, error %v, want %v", changed, err, ownedstatus.ErrStale)
			}
			if phase := f.read().Status.Phase; phase != "" {
				t.Errorf("phase %q was written: %s", phase, tc.reason)
			}
		})
	}
}

func TestApplyRemovesOmittedFields(t *testing.T) {
	tests := map[string]any{
		"an empty struct":   apitest.ShipStatus{},
		"an empty map":      map[string]any{},
		"nulls and empties": map[string]any{"phase": nil, "conditions": conditions{}, "transitions": nil},
		"nothing":           nil,
	}
	for name, owned := range tests {
		t.Run(name, func(t *testing.T) {
			f := setUp(t)
			a := f.writer(operator)
			f.apply(f.writer(aggregator), true, map[string]any{"conditions": conditions{condition("Available", "True")}})
			f.apply(a, true, apitest.ShipStatus{Phase: "Running", Conditions: conditions{condition("Ready", "True")}})
			f.apply(a, true, owned)
			f.wantConditions(condition("Available", "True"))
			if phase := f.read().Status.Phase; phase != "" {
				t.Errorf("phase %q is still there", phase)
			}
			f.apply(a, false, owned)
		})
	}
}

func TestApplyKeepsResponsesOutOfLaterWrites(t *testing.T) {
	f := setUp(t)
	a, b := f.writer(operator), f.writer(aggregator)
	owned := map[string]any{"phase": "Running"}
	current := f.read()
	for _, phase := range []string{"Running", "Failed", "Running"} {
		owned["phase"] = phase
		if _, err := a.Apply(t.Context(), current, owned); err != nil {
			t.Fatal(err)
		}
		// In between the other manager writes; a's next write starts from what it read.
		f.apply(b, true, map[string]any{"conditions": conditions{{
			Type: "Available", Status: "True", Reason: phase + "Now", Message: "text", LastTransitionTime: metav1.NewTime(since.Add(time.Duration(current.Generation))),
		}}})
		current = f.read()
	}
	// b is the only owner of its condition: it is removed when b no longer applies it.
	f.apply(b, true, map[string]any{})
	f.wantConditions()
}

func TestApplyTwiceInOneReconcile(t *testing.T) {
	f := setUp(t)
	current := f.read()
	current.Spec.Size = 99 // the caller's working copy, for example with defaults resolved
	if _, err := f.writer(operator).Apply(t.Context(), current, apitest.ShipStatus{Phase: "Running"}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.writer(aggregator).ApplyConditions(t.Context(), current, conditions{condition("Available", "True")}); err != nil {
		t.Fatal(err)
	}
	f.wantConditions(condition("Available", "True"))
	got := f.read()
	if current.ResourceVersion != got.ResourceVersion || current.Status.Phase != "Running" || len(current.Status.Conditions) != 1 {
		t.Errorf("current does not show what was written: %+v", current)
	}
	if current.Spec.Size != 99 || got.Spec.Size != 3 {
		t.Errorf("sizes are %d and %d", current.Spec.Size, got.Spec.Size)
	}
}

func TestApplyRestoresRemovedConditions(t *testing.T) {
	f := setUp(t)
	b := f.writer(aggregator)
	f.apply(b, true, map[string]any{"conditions": conditions{condition("Available", "True")}})
	s := f.read()
	s.Status.Conditions = conditions{condition("Ready", "True")} // replaces the list
	if err := f.c.Status().Update(t.Context(), s, client.FieldOwner("careless")); err != nil {
		t.Fatal(err)
	}
	f.wantConditions(condition("Ready", "True"))
	f.apply(b, true, map[string]any{"conditions": conditions{condition("Available", "True")}})
	f.wantConditions(condition("Ready", "True"), condition("Available", "True"))
}

func TestApplyReturnsNotFound(t *testing.T) {
	f := setUp(t)
	cached := f.read()
	if err := f.c.Delete(t.Context(), f.ship()); err != nil {
		t.Fatal(err)
	}
	if _, err := f.writer(operator).Apply(t.Context(), cached, apitest.ShipStatus{Phase: "Running"}); !apierrors.IsNotFound(err) {
		t.Errorf("got %v, want NotFound", err)
	}
	if _, err := f.writer(operator).Apply(t.Context(), f.ship(), apitest.ShipStatus{}); err == nil {
		t.Error("an object that was never read is accepted")
	}
}

func TestApplyCannotRemoveLastField(t *testing.T) {
	f := setUp(t)
	f.apply(f.writer(operator), true, apitest.ShipStatus{Phase: "Running"})
	if _, err := f.writer(operator).Apply(t.Context(), f.read(), nil); !apierrors.IsInvalid(err) {
		t.Errorf("got %v, want Invalid", err)
	}
}

func TestApplyAcceptsUnstructuredObjects(t *testing.T) {
	for _, kind := range []string{"Ship", "Raft"} {
		t.Run(kind, func(t *testing.T) {
			f := setUp(t)
			read := func() *unstructured.Unstructured {
				u := &unstructured.Unstructured{}
				u.SetGroupVersionKind(apitest.GroupVersion.WithKind(kind))
				u.SetNamespace(f.ns)
				u.SetName("u")
				if err := f.c.Get(t.Context(), client.ObjectKeyFromObject(u), u); apierrors.IsNotFound(err) {
					apitest.Create(t, f.c, u)
				} else if err != nil {
					t.Fatal(err)
				}
				return u
			}
			if _, err := f.writer(aggregator).ApplyConditions(t.Context(), read(), conditions{condition("Available", "True")}); err != nil {
				t.Fatal(err)
			}
			steps := []struct {
				name    string
				owned   any
				changed bool
			}{
				{"first", map[string]any{"phase": "A", "conditions": conditions{condition("Ready", "True"), condition("X", "True")}}, true},
				{"again", map[string]any{"phase": "A", "conditions": conditions{condition("X", "True"), condition("Ready", "True")}}, false},
				{"changed", map[string]any{"phase": "A", "conditions": conditions{condition("Ready", "False")}}, true},
				{"empty", map[string]any{}, true},
				{"empty again", map[string]any{}, false},
			}
			for _, step := range steps {
				changed, err := f.writer(operator).Apply(t.Context(), read(), step.owned)
				if err != nil || changed != step.changed {
					t.Errorf("%s: changed %v, error %v, want %v", step.name, changed, err, step.changed)
				}
			}
		})
	}
}

package status

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
)

var (
	transitionSeen = time.Date(2026, 1, 2, 3, 4, 5, 999, time.UTC)
	transitionTime = metav1.NewTime(transitionSeen.Truncate(time.Second).Add(-time.Hour))
)

func deletedClass(c v1alpha1.FireboltEngineClass) v1alpha1.FireboltEngineClass {
	c.DeletionTimestamp = &transitionTime
	return c
}

func TestClassStatus(t *testing.T) {
	live := v1alpha1.FireboltEngineClass{ObjectMeta: metav1.ObjectMeta{Name: "big", Generation: 3}}
	var many []string
	for i := range 8 {
		many = append(many, fmt.Sprintf("e%d", i))
	}
	cases := map[string]struct {
		in              Class
		status          metav1.ConditionStatus
		reason, message string
	}{
		"a template that is fine": {
			Class{Object: &live, Engines: []string{"a", "b"}}, "True", v1alpha1.ReasonAdmissible, "The class is valid.",
		},
		"a rejected template":      {Class{Object: &live, Rejected: "spec.x: no."}, "False", v1alpha1.ReasonOperatorOwnedFieldSet, "spec.x: no. Correct the class."},
		"an unsupported feature":   {Class{Object: &live, Unsupported: "spec.y: no."}, "False", v1alpha1.ReasonNotSupported, "spec.y: no. Correct the class."},
		"the template comes first": {Class{Object: &live, Rejected: "x", Unsupported: "y"}, "False", v1alpha1.ReasonOperatorOwnedFieldSet, "x. Correct the class."},
		"a deletion comes before all": {
			Class{Object: new(deletedClass(live)), Engines: []string{"a"}, Rejected: "x"},
			"False", v1alpha1.ReasonDeletionBlocked,
			"Deletion is blocked: 1 engine uses the class: a. Delete the engine, or change its class.",
		},
		"many engines are counted": {
			Class{Object: new(deletedClass(live)), Engines: many},
			"False", v1alpha1.ReasonDeletionBlocked,
			"Deletion is blocked: 8 engines use the class: e0, e1, e2, e3, e4 and 3 more. Delete the engines, or change their class.",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			want := v1alpha1.FireboltEngineClassStatus{
				ObservedGeneration: 3, BoundEngines: int32(len(tc.in.Engines)),
				Conditions: []metav1.Condition{{
					Type: v1alpha1.ConditionReady, Status: tc.status, Reason: tc.reason, Message: tc.message,
					ObservedGeneration: 3, LastTransitionTime: metav1.NewTime(transitionSeen.Truncate(time.Second)),
				}},
			}
			if diff := cmp.Diff(want, tc.in.Next(transitionSeen)); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
		})
	}
}

func TestClassStatusKeepsUnchangedStatus(t *testing.T) {
	c := v1alpha1.FireboltEngineClass{ObjectMeta: metav1.ObjectMeta{Generation: 3}}
	c.Status = Class{Object: &c, Engines: []string{"a"}}.Next(transitionSeen)
	if diff := cmp.Diff(c.Status, Class{Object: &c, Engines: []string{"a"}}.Next(transitionSeen.Add(time.Hour))); diff != "" {
		t.Errorf("an hour later (-want +got):\n%s", diff)
	}
	rejected := Class{Object: &c, Rejected: "x"}.Next(transitionSeen.Add(time.Hour))
	if rejected.Conditions[0].LastTransitionTime.Time.Equal(c.Status.Conditions[0].LastTransitionTime.Time) {
		t.Errorf("the time of the transition did not move: %+v", rejected.Conditions)
	}
	c.Status = rejected
	if other := (Class{Object: &c, Rejected: "y"}).Next(transitionSeen.Add(2 * time.Hour)); !other.Conditions[0].LastTransitionTime.Time.Equal(rejected.Conditions[0].LastTransitionTime.Time) {
		t.Errorf("the time of the transition moved although the status stayed: %+v", other.Conditions)
	}
}

func TestClassEventsOncePerChange(t *testing.T) {
	c := &v1alpha1.FireboltEngineClass{}
	cases := []struct {
		name, want string
		in         Class
		deleted    bool
	}{
		{"a valid template emits no event", "", Class{}, false},
		{"a rejected template", v1alpha1.ReasonOperatorOwnedFieldSet, Class{Rejected: "x"}, false},
		{"the same rejection", "", Class{Rejected: "x", Engines: []string{"a"}}, false},
		{"another rejection", v1alpha1.ReasonOperatorOwnedFieldSet, Class{Rejected: "y"}, false},
		{"a fixed template emits no warning", "", Class{}, false},
		{"rejected again", v1alpha1.ReasonOperatorOwnedFieldSet, Class{Rejected: "y"}, false},
		{"a blocked deletion", v1alpha1.ReasonDeletionBlocked, Class{Engines: []string{"a", "b"}}, true},
		{"fewer engines block it", "", Class{Engines: []string{"b"}}, true},
	}
	for _, tc := range cases { // in order: each starts from the previous status
		if tc.deleted {
			c.DeletionTimestamp = &transitionTime
		}
		tc.in.Object = c
		next := tc.in.Next(transitionSeen)
		reason, message := tc.in.Event(next)
		if reason != tc.want || (reason != "") != (message != "") || !strings.Contains(next.Conditions[0].Message, message) {
			t.Errorf("%s: event %q %q, want %q", tc.name, reason, message, tc.want)
		}
		c.Status = next
	}
}

package ownedstatus_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/libs/kube/internal/apitest"
	"github.com/flotilla-dev/flotilla/libs/kube/ownedstatus"
)

const (
	operator   = "test-operator"
	aggregator = "flotilla-conditions"
)

var since = metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))

func condition(conditionType string, status metav1.ConditionStatus) metav1.Condition {
	return metav1.Condition{Type: conditionType, Status: status, Reason: "Because", Message: "text", LastTransitionTime: since, ObservedGeneration: 1}
}

// fixture is a fresh Ship and a client that counts.
type fixture struct {
	*testing.T
	c    *apitest.Client
	ns   string
	name string
}

func setUp(t *testing.T) fixture {
	t.Helper()
	f := fixture{T: t, c: apitest.New(t, apitest.AddToScheme), ns: apitest.Namespace(t), name: "s"}
	apitest.Create(t, f.c, f.ship())
	return f
}

func (f fixture) ship() *apitest.Ship {
	return &apitest.Ship{ObjectMeta: metav1.ObjectMeta{Namespace: f.ns, Name: f.name}, Spec: apitest.ShipSpec{Size: 3}}
}

func (f fixture) read() *apitest.Ship {
	f.Helper()
	return apitest.Read(f.T, f.c.Client, f.ship())
}

// reserved are the condition types that the operator leaves to the aggregator.
var reserved = []string{"Available", "Degraded"}

func (f fixture) operator() *ownedstatus.Writer {
	return ownedstatus.New(f.c, operator,
		ownedstatus.WithConditions("ScheduleValid", "Suspended"), ownedstatus.WithoutConditions(reserved...))
}

func (f fixture) conditions() *ownedstatus.Writer { return ownedstatus.New(f.c, aggregator) }

func (f fixture) writer(manager string) *ownedstatus.Writer {
	return ownedstatus.New(f.c, manager)
}

// apply writes from a fresh read and checks whether something changed.
func (f fixture) apply(w *ownedstatus.Writer, wantChanged bool, owned any) {
	f.Helper()
	changed, err := w.Apply(f.Context(), f.read(), owned)
	if err != nil {
		f.Fatal(err)
	}
	if changed != wantChanged {
		f.Errorf("changed is %v, want %v", changed, wantChanged)
	}
}

func (f fixture) wantConditions(want ...metav1.Condition) {
	f.Helper()
	got := f.read().Status.Conditions
	if len(got) != len(want) {
		f.Errorf("there are %d conditions, want %d: %v", len(got), len(want), got)
	}
	for _, w := range want {
		g := meta.FindStatusCondition(got, w.Type)
		if g == nil {
			f.Errorf("condition %s is missing", w.Type)
			continue
		}
		if diff := cmp.Diff(w, *g); diff != "" {
			f.Errorf("condition %s (-want +got):\n%s", w.Type, diff)
		}
	}
}

type conditions = []metav1.Condition

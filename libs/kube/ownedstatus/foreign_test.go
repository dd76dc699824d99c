package ownedstatus_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/kube/internal/apitest"
	"github.com/flotilla-dev/flotilla/libs/kube/ownedstatus"
)

// kubectlPatch writes one field of the status, as kubectl patch --subresource=status does.
func (f fixture) kubectlPatch(field string, v any) {
	f.Helper()
	raw, err := json.Marshal(map[string]any{"status": map[string]any{field: v}})
	if err != nil {
		f.Fatal(err)
	}
	if err := f.c.Status().Patch(f.Context(), f.read(), client.RawPatch(types.MergePatchType, raw), client.FieldOwner("kubectl-patch")); err != nil {
		f.Fatal(err)
	}
}

func TestApplyRestoresPatchedField(t *testing.T) {
	f := setUp(t)
	f.apply(f.operator(), true, apitest.ShipStatus{Phase: "Running", Count: 1})
	f.kubectlPatch("phase", "Broken")
	f.apply(f.operator(), true, apitest.ShipStatus{Phase: "Running", Count: 1})
	if phase := f.read().Status.Phase; phase != "Running" {
		t.Errorf("phase is %q, want Running", phase)
	}
}

// A list of conditions that another manager wrote goes with its last item: it does not become null.
func TestApplyRemovesListOfOtherManager(t *testing.T) {
	for name, written := range map[string]conditions{
		"with a condition of another Writer": {condition("Suspended", "True"), condition("Degraded", "True")},
		"with its own condition":             {condition("Suspended", "True")},
	} {
		t.Run(name, func(t *testing.T) {
			f := setUp(t)
			f.kubectlPatch("conditions", conditions{condition("Suspended", "False")})
			ship := f.read()
			ship.Status = apitest.ShipStatus{Phase: "Foreign", Conditions: written}
			if err := f.c.Status().Update(t.Context(), ship, client.FieldOwner(operator)); err != nil {
				t.Fatal(err)
			}
			f.apply(f.operator(), true, apitest.ShipStatus{Phase: "Running"})
			if got := f.read().Status; got.Phase != "Running" || len(got.Conditions) != 0 {
				t.Errorf("got %+v, want no conditions", got)
			}
		})
	}
}

// history is one Ship with its two owners, and other managers that write their fields.
type history struct {
	rt *rapid.T
	fixture
	operator, aggregator *ownedstatus.Writer
	tool                 bool // the status has the condition of a manager that owns none of our fields
}

// After writes of any managers in any order, one write of each owner restores its own fields and keeps
// all others, and the next write sends no request.
func TestForeignStatusWrites(t *testing.T) {
	f := setUp(t)
	serial := 0
	rapid.Check(t, func(rt *rapid.T) {
		serial++
		h := &history{rt: rt, fixture: f, operator: f.operator(), aggregator: f.conditions()}
		h.name = fmt.Sprintf("s%d", serial)
		apitest.Create(t, f.c, h.ship())
		for range rapid.IntRange(1, 5).Draw(rt, "writes") {
			h.step()
		}
		own, aggregated := h.ownStatus(), h.aggregatedConditions()
		h.write(own, aggregated)
		want := own
		want.Transitions = append([]apitest.Transition(nil), own.Transitions...)
		want.Conditions = slices.Concat(own.Conditions, aggregated)
		if h.tool {
			want.Conditions = append(want.Conditions, condition("Tool", "True"))
		}
		got := h.read().Status
		byType := func(a, b metav1.Condition) int { return strings.Compare(a.Type, b.Type) }
		slices.SortFunc(got.Conditions, byType)
		slices.SortFunc(want.Conditions, byType)
		if diff := cmp.Diff(want, got); diff != "" {
			rt.Fatalf("status (-want +got):\n%s", diff)
		}
		if n := f.c.Requests(func() { h.writeTo(h.read(), own, aggregated) }); n != 1 {
			rt.Fatalf("an equal status cost %d requests besides the read", n-1)
		}
	})
}

func (h *history) ownStatus() apitest.ShipStatus {
	return apitest.ShipStatus{
		Phase:       rapid.SampledFrom([]string{"Running", "Failed"}).Draw(h.rt, "phase"),
		Count:       rapid.IntRange(0, 2).Draw(h.rt, "count"),
		Transitions: []apitest.Transition{{Seq: rapid.IntRange(1, 2).Draw(h.rt, "seq"), To: "Running"}}[:rapid.IntRange(0, 1).Draw(h.rt, "transitions")],
		Conditions:  h.drawConditions("ScheduleValid", "Suspended"),
	}
}

// aggregatedConditions returns all six conditions, as the aggregator writes them.
func (h *history) aggregatedConditions() []metav1.Condition {
	var out []metav1.Condition
	for _, conditionType := range reserved {
		out = append(out, h.condition(conditionType))
	}
	return out
}

func (h *history) condition(conditionType string) metav1.Condition {
	return condition(conditionType, rapid.SampledFrom([]metav1.ConditionStatus{"True", "False"}).Draw(h.rt, conditionType))
}

func (h *history) drawConditions(types ...string) []metav1.Condition {
	var out []metav1.Condition
	for _, conditionType := range types {
		if rapid.IntRange(0, 3).Draw(h.rt, conditionType+" is there") > 0 {
			out = append(out, h.condition(conditionType))
		}
	}
	return out
}

func (h *history) write(own apitest.ShipStatus, aggregated []metav1.Condition) {
	h.writeTo(h.read(), own, aggregated)
}

func (h *history) writeTo(current *apitest.Ship, own apitest.ShipStatus, aggregated []metav1.Condition) {
	if _, err := h.operator.Apply(h.Context(), current, own); err != nil {
		h.rt.Fatal(err)
	}
	if _, err := h.aggregator.ApplyConditions(h.Context(), current, aggregated); err != nil {
		h.rt.Fatal(err)
	}
}

// step makes one write, of the owners or of another manager.
func (h *history) step() {
	fullStatus := func() apitest.ShipStatus {
		s := h.ownStatus()
		s.Phase = "Foreign"
		s.Conditions = append(s.Conditions, h.drawConditions(reserved...)...)
		return s
	}
	check := func(err error) {
		if err != nil {
			h.rt.Fatal(err)
		}
	}
	ctx := h.Context()
	switch kind := rapid.SampledFrom([]string{"owners", "patch", "patch conditions", "update", "apply", "tool"}).Draw(h.rt, "write"); kind {
	case "owners":
		h.write(h.ownStatus(), h.aggregatedConditions())
	case "patch":
		h.kubectlPatch("count", rapid.IntRange(1, 3).Draw(h.rt, "patched"))
	case "patch conditions":
		h.kubectlPatch("conditions", h.drawConditions("ScheduleValid", "Available"))
		h.tool = false
	case "update": // a restore, or an operator of an earlier release
		s := h.read()
		s.Status = fullStatus()
		manager := rapid.SampledFrom([]string{"velero-server", "manager", "superset", operator, aggregator}).Draw(h.rt, "manager")
		check(h.c.Status().Update(ctx, s, client.FieldOwner(manager)))
		h.tool = false
	case "apply":
		check(h.apply("argocd", fullStatus()))
	case "tool": // a user with a condition of its own, and nothing else
		check(h.apply("tool", apitest.ShipStatus{Conditions: conditions{condition("Tool", "True")}}))
		h.tool = true
	}
}

func (h *history) apply(manager string, status apitest.ShipStatus) error {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	raw, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, &u.Object); err != nil {
		return err
	}
	u.SetGroupVersionKind(apitest.GroupVersion.WithKind("Ship"))
	u.SetNamespace(h.ns)
	u.SetName(h.name)
	return h.c.Status().Apply(h.Context(), client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(manager), client.ForceOwnership)
}

package status

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/flotilla-dev/flotilla/libs/conditions"
	v1 "github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/engine"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/observe"
)

// readyReasons reads the reasons of an engine's Ready from the API's source.
func readyReasons(t *testing.T) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../../api/v1alpha1/conditions.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, d := range file.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Doc == nil || !strings.HasPrefix(g.Doc.Text(), "Reasons of an engine's Ready") {
			continue
		}
		for _, s := range g.Specs {
			if v, ok := s.(*ast.ValueSpec); ok {
				if lit, ok := v.Values[0].(*ast.BasicLit); ok {
					out = append(out, strings.Trim(lit.Value, `"`))
				}
			}
		}
	}
	return out
}

// serving is an engine of generation 4 whose generation g1 serves with all its pods, as
// generation 3 of its spec asked for.
func serving(change func(*Engine)) (Engine, observe.Children) {
	object := &v1.FireboltEngine{
		ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "e", UID: "u", Generation: 4},
		Spec:       v1.FireboltEngineSpec{InstanceRef: "shop", Replicas: 2, EngineClassRef: ptr.To("class")},
		Status:     v1.FireboltEngineStatus{Phase: v1.PhaseStable, CurrentGeneration: 1, ActiveGeneration: 1, ObservedGeneration: 3},
	}
	e := Engine{
		Object: object, Decided: true, GateAsked: true, PodsReady: 2, PodsTotal: 2, Replicas: 2,
		Plan: engine.Plan{Next: engine.State{Phase: v1.PhaseStable, Current: 1, Active: 1, Draining: engine.None, Allocated: 1}},
	}
	if change != nil {
		change(&e)
	}
	set := func(n int64, ready int32) *appsv1.StatefulSet {
		replicas := e.Replicas
		return &appsv1.StatefulSet{
			ObjectMeta: metav1.ObjectMeta{Name: names.Generation("e", n)},
			Spec:       appsv1.StatefulSetSpec{Replicas: ptr.To(replicas)},
			Status:     appsv1.StatefulSetStatus{Replicas: ready, ReadyReplicas: ready, AvailableReplicas: ready, UpdatedReplicas: ready},
		}
	}
	c := observe.Children{
		StatefulSets: map[int64]*appsv1.StatefulSet{1: set(1, e.PodsReady)},
		Cluster:      &corev1.Service{Spec: corev1.ServiceSpec{Selector: names.GenerationLabels("e", 1)}},
	}
	if n := e.Plan.Next.Current; n != 1 {
		c.StatefulSets[n] = set(n, 0)
	}
	return e, c
}

// says are the statuses of Available, Progressing, Degraded, Upgradable, Paused and
// Stopped, in this order: True, False or Unknown.
func says(e Engine, c observe.Children, applied bool, failure error) (string, []metav1.Condition) {
	o := e.Observation(c, applied, failure, time.Time{})
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	in := conditions.Input{Observation: &o, Generation: e.Object.Generation, Now: now}
	first := conditions.Fold(in)
	in.Previous, in.Memory, in.Now = first.Conditions, first.Memory, now.Add(time.Hour) // hold-downs are over
	last := conditions.Fold(in)
	out := make([]byte, 0, len(last.Conditions))
	for _, c := range last.Conditions {
		out = append(out, c.Status[0])
	}
	return string(out), last.Conditions
}

// What each reason of an engine's Ready means for the six conditions, on a spec that is
// new. The table is total: a reason that the API gets needs a row.
func TestEveryReasonSaysWhatTheConditionsMust(t *testing.T) {
	moving := func(e *Engine) {
		e.Plan.Next = engine.State{Phase: v1.PhaseCreating, Current: 2, Active: 1, Draining: engine.None, Allocated: 2}
	}
	cases := []struct {
		name    string // the reason, and what tells rows of one reason apart
		change  func(*Engine)
		applied bool
		failure error
		want    string // Available Progressing Degraded Upgradable Paused Stopped
		message string // of Degraded or Upgradable
	}{
		{"EngineReady", nil, true, nil, "TFFTFF", ""},
		{"EngineReady, waiting for a turn", func(e *Engine) { e.Plan.Waiting = true }, true, nil, "TFFFFF", "waits for its turn"},
		{"EngineReady, rolled back", func(e *Engine) { e.Plan.Next.Rejected = "bad" }, false, nil, "TFTFFF", "RolledBack"},
		{"Initializing", func(e *Engine) {
			e.Plan.Next = engine.State{Current: 0, Active: engine.None, Draining: engine.None}
			e.PodsReady = 0
		}, false, nil, "FTFFFF", ""},
		{"InstanceNotReady", func(e *Engine) { e.Gate = "The instance has no endpoint." }, true, nil, "TFTFFF", "FireboltInstance shop is not ready"},
		{"FireboltEngineClassUnready", func(e *Engine) { e.Class = "The class does not exist." }, false, nil, "TFTFFF", "The class does not exist"},
		{"NotSupported", func(e *Engine) { e.Unsupported = "spec.autoStop is not supported." }, false, nil, "TFTFFF", "spec.autoStop"},
		{"TemplateRejected", func(e *Engine) { e.Rejected = "spec.template: hostNetwork." }, false, nil, "TFTFFF", "hostNetwork"},
		{"ResourceBoundsExceeded", func(e *Engine) { e.Bounds = "cpu: 8." }, false, nil, "TFTFFF", "cpu: 8"},
		{"Stopped", func(e *Engine) {
			e.Object.Annotations = map[string]string{v1.AnnotationCommand: v1.CommandStopped}
			e.Plan.Next.Phase, e.PodsReady, e.PodsTotal = v1.PhaseStopped, 0, 0
			e.Replicas = 0
		}, true, nil, "FFFFFT", ""},
		{"DrainCheckFailing", func(e *Engine) { e.DrainTrouble = "Generation 0 does not answer." }, true, nil, "TFFFFF", "does not answer"},
		{"Rolling", moving, false, nil, "TTFFFF", ""},
		{"Rolling, overdue", func(e *Engine) { moving(e); e.Overdue = true }, true, nil, "TFTFFF", "did not finish"},
		{"Rolling, no pod can be created", func(e *Engine) {
			moving(e)
			e.Warning = Warning{Reason: "FailedCreate", Message: "exceeded quota: pods=3"}
		}, true, nil, "TFTFFF", "cannot be created"},
		{"PodsNotReady", func(e *Engine) { e.PodsReady = 1 }, true, nil, "FTFFFF", ""},
		{"ExternalFinalizer", func(e *Engine) {
			e.Held = "A finalizer keeps StatefulSet e-g1."
			e.Object.DeletionTimestamp = &metav1.Time{}
		}, false, nil, "TTFFFF", ""},
		{"ApplyRefused, invalid", func(e *Engine) {
			e.Decided = false
			e.Warning = Warning{Reason: v1.ReasonApplyRefused, Message: "spec.x: invalid", Terminal: true}
		}, false, errors.New("invalid"), "TFTFFF", "spec.x: invalid"},
		{"ApplyRefused, for now", func(e *Engine) {
			e.Decided = false
			e.Warning = Warning{Reason: v1.ReasonApplyRefused, Message: "exceeded quota"}
		}, false, errors.New("exceeded quota"), "TTTFFF", "exceeded quota"},
	}
	seen := map[string]bool{}
	for _, tc := range cases {
		reason, _, _ := strings.Cut(tc.name, ",")
		seen[reason] = true
		t.Run(tc.name, func(t *testing.T) {
			e, c := serving(tc.change)
			got, list := says(e, c, tc.applied, tc.failure)
			if got != tc.want {
				for _, c := range list {
					t.Logf("%s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message)
				}
				t.Errorf("the conditions are %s, want %s", got, tc.want)
			}
			if d, u := meta.FindStatusCondition(list, "Degraded"), meta.FindStatusCondition(list, "Upgradable"); !strings.Contains(d.Message+u.Message, tc.message) {
				t.Errorf("Degraded says %q, Upgradable %q; want %q in one of them", d.Message, u.Message, tc.message)
			}
		})
	}
	reasons := readyReasons(t)
	if len(reasons) < 13 {
		t.Fatalf("only %d reasons were found: %v", len(reasons), reasons)
	}
	for _, r := range reasons {
		if !seen[r] {
			t.Errorf("the table has no row for %s", r)
		}
	}
}

package observation

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/engine"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/observe"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/status"
)

// apiReasons returns all reasons of the API from its source code.
func apiReasons(t *testing.T) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../../api/v1alpha1/conditions.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	ast.Inspect(file, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(v.Names[0].Name, "Reason") {
			return true
		}
		if literal, ok := v.Values[0].(*ast.BasicLit); ok {
			out = append(out, strings.Trim(literal.Value, `"`))
		}
		return true
	})
	return out
}

// ownConditionsOnly lists the reasons that do not appear in the six conditions: they are set on conditions
// whose state another reason reports.
var ownConditionsOnly = []string{
	v1alpha1.ReasonInstanceReady, v1alpha1.ReasonOnTime, v1alpha1.ReasonNotRolledBack,
	v1alpha1.ReasonProgressDeadlineExceeded,                         // see the rows "Rolling, overdue" and "EngineReady, rolled back"
	v1alpha1.ReasonDrainTimeoutExceeded,                             // the generation that ran queries for too long is deleted
	v1alpha1.ReasonAdmissible, v1alpha1.ReasonOperatorOwnedFieldSet, // reasons of a class, which has none of the six: see TestClassStatus
}

// The tables are complete: a new reason of the API needs a row, for an engine or an instance.
func TestReasonsHaveRows(t *testing.T) {
	rows := map[string]bool{}
	for _, r := range ownConditionsOnly {
		rows[r] = true
	}
	for _, r := range slices.Concat(engineReasons(), instanceReasons()) {
		reason, _, _ := strings.Cut(r.name, ",")
		rows[reason] = true
	}
	reasons := apiReasons(t)
	if len(reasons) < 30 {
		t.Fatalf("only %d reasons were found: %v", len(reasons), reasons)
	}
	for _, r := range reasons {
		if !rows[r] {
			t.Errorf("no table has a row for %s", r)
		}
	}
}

// serving returns an engine of generation 4 whose generation g1 serves with all its pods, as
// generation 3 of its spec requested.
func serving(change func(*status.Engine)) (status.Engine, observe.Children) {
	object := &v1alpha1.FireboltEngine{
		ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "e", UID: "u", Generation: 4},
		Spec:       v1alpha1.FireboltEngineSpec{InstanceRef: "shop", Replicas: 2, EngineClassRef: new("class")},
		Status:     v1alpha1.FireboltEngineStatus{Phase: v1alpha1.PhaseStable, CurrentGeneration: 1, ActiveGeneration: 1, ObservedGeneration: 3},
	}
	e := status.Engine{
		Object: object, Decided: true, InstanceChecked: true, PodsReady: 2, PodsTotal: 2, Replicas: 2,
		Plan: engine.Plan{Next: engine.State{Phase: v1alpha1.PhaseStable, Current: 1, Active: 1, Draining: engine.None, Allocated: 1}},
	}
	if change != nil {
		change(&e)
	}
	set := func(n int64, ready int32) *appsv1.StatefulSet {
		replicas := e.Replicas
		return &appsv1.StatefulSet{
			ObjectMeta: metav1.ObjectMeta{Name: names.Generation("e", n)},
			Spec:       appsv1.StatefulSetSpec{Replicas: new(replicas)},
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

// evaluate returns the statuses of Available, Progressing, Degraded, Upgradable, Paused and
// Stopped, in this order: True, False or Unknown; and the reasons of Progressing and
// Degraded; at the given time after the first observation.
func evaluate(o contract.Observation, generation int64, after time.Duration) (string, []metav1.Condition) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	in := conditions.Input{Observation: &o, Generation: generation, Now: now}
	first := conditions.Compute(in)
	in.Previous, in.Memory, in.Now = first.Conditions, first.Memory, now.Add(after)
	last := conditions.Compute(in)
	out := make([]byte, 0, len(last.Conditions))
	for _, c := range last.Conditions {
		out = append(out, c.Status[0])
	}
	find := func(kind string) string { return meta.FindStatusCondition(last.Conditions, kind).Reason }
	return string(out) + " " + find("Progressing") + " " + find("Degraded"), last.Conditions
}

// reasonRow has the six conditions for one reason of Ready, or of a component,
// with a new spec.
type reasonRow struct {
	name        string // the reason, and a suffix that distinguishes its rows
	observation contract.Observation
	want        string // see evaluate
	message     string // of Degraded or Upgradable
}

func (r reasonRow) check(t *testing.T) {
	t.Helper()
	got, list := evaluate(r.observation, 4, time.Hour) // hold-downs are over
	if withinHoldDown, _ := evaluate(r.observation, 4, 15*time.Second); withinHoldDown != got && strings.HasSuffix(got, " "+conditions.ReasonCreateFailed) {
		t.Errorf("after 15 s the conditions are %s, want %s", withinHoldDown, got)
	}
	if got != r.want {
		for _, c := range list {
			t.Logf("%s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message)
		}
		t.Errorf("the conditions are %s, want %s", got, r.want)
	}
	p, d, u := meta.FindStatusCondition(list, "Progressing"), meta.FindStatusCondition(list, "Degraded"), meta.FindStatusCondition(list, "Upgradable")
	if !strings.Contains(d.Message+u.Message, r.message) {
		t.Errorf("Degraded has message %q, Upgradable %q; want %q in one of them", d.Message, u.Message, r.message)
	}
	if slices.Contains(slices.Concat(conditions.TerminalReasons(), conditions.WaitingReasons()), p.Reason) && (p.ObservedGeneration != 4 || d.ObservedGeneration != 4 || u.ObservedGeneration != 4) {
		t.Errorf("%s has the generations %d, %d and %d, want the latest one", p.Reason, p.ObservedGeneration, d.ObservedGeneration, u.ObservedGeneration)
	}
}

func TestEngineReasonsMatchConditions(t *testing.T) {
	for _, r := range engineReasons() {
		t.Run(r.name, r.check)
	}
}

func TestInstanceReasonsMatchConditions(t *testing.T) {
	for _, r := range instanceReasons() {
		t.Run(r.name, r.check)
	}
}

func engineReasons() []reasonRow {
	rolling := func(e *status.Engine) {
		e.Plan.Next = engine.State{Phase: v1alpha1.PhaseCreating, Current: 2, Active: 1, Draining: engine.None, Allocated: 2}
	}
	row := func(name string, change func(*status.Engine), applied bool, failure error, want, message string) reasonRow {
		e, c := serving(change)
		return reasonRow{name, ForEngine(e, c, applied, failure, time.Time{}), want, message}
	}
	applyFails := func(w status.Warning) func(*status.Engine) {
		return func(e *status.Engine) {
			e.Decided = false
			w.Reason = v1alpha1.ReasonApplyRefused
			e.Warning = w
		}
	}
	return []reasonRow{
		row("EngineReady", nil, true, nil, "TFFTFF AsExpected AsExpected", ""),
		row("EngineReady, waiting for a slot", func(e *status.Engine) { e.Plan.Waiting = true }, false, nil, "TFFFFF RolloutThrottled AsExpected", "waits for a rollout slot"),
		row("EngineReady, rolled back", func(e *status.Engine) { e.Plan.Next.Rejected = "bad" }, false, nil, "TFTFFF RolledBack RolledBack", "Change the engine or its class"),
		row("EngineReady, paused from creation", func(e *status.Engine) {
			e.Object.Annotations = map[string]string{v1alpha1.AnnotationCommand: v1alpha1.CommandPaused}
			e.Object.Status = v1alpha1.FireboltEngineStatus{}
			e.Plan.Next = engine.State{Current: 0, Active: engine.None, Draining: engine.None}
			e.PodsReady = 0
		}, false, nil, "FFFFTF ReconciliationPaused ReconciliationPaused", "paused"),
		row("Initializing", func(e *status.Engine) {
			e.Plan.Next = engine.State{Current: 0, Active: engine.None, Draining: engine.None}
			e.PodsReady = 0
		}, false, nil, "FTFFFF SpecNotObserved AsExpected", ""),
		row("InstanceNotReady", func(e *status.Engine) { e.InstanceError = "The instance has no endpoint." }, true, nil, "TFTFFF AsExpected DependencyUnavailable", "FireboltInstance shop is not ready"),
		row("FireboltEngineClassUnready", func(e *status.Engine) { e.Class = "The class does not exist." }, false, nil, "TFTFFF FireboltEngineClassUnready FireboltEngineClassUnready", "The class does not exist"),
		row("NotSupported", func(e *status.Engine) { e.Unsupported = "spec.autoStop is not supported." }, false, nil, "TFTFFF NotSupported NotSupported", "spec.autoStop"),
		row("TemplateRejected", func(e *status.Engine) { e.Rejected = "spec.template: hostNetwork." }, false, nil, "TFTFFF TemplateRejected TemplateRejected", "hostNetwork"),
		row("ResourceBoundsExceeded", func(e *status.Engine) { e.Bounds = "cpu: 8." }, false, nil, "TFTFFF ResourceBoundsExceeded ResourceBoundsExceeded", "cpu: 8"),
		row("Stopped", func(e *status.Engine) {
			e.Object.Annotations = map[string]string{v1alpha1.AnnotationCommand: v1alpha1.CommandStopped}
			e.Plan.Next.Phase, e.PodsReady, e.PodsTotal = v1alpha1.PhaseStopped, 0, 0
			e.Replicas = 0
		}, true, nil, "FFFFFT AsExpected Stopped", ""),
		row("DrainCheckFailing", func(e *status.Engine) { e.DrainError = "Generation 0 does not answer." }, true, nil, "TFFFFF AsExpected AsExpected", "does not answer"),
		row("Rolling", rolling, false, nil, "TTFFFF SpecNotObserved AsExpected", ""),
		row("Rolling, overdue", func(e *status.Engine) { rolling(e); e.Overdue = true }, true, nil, "TFTFFF Stalled Stalled", "exceeded its progress deadline"),
		row("Rolling, no pod can be created", func(e *status.Engine) {
			rolling(e)
			e.Warning = status.Warning{Reason: "FailedCreate", Message: "StatefulSet e-g2: exceeded quota: pods=3 (x4)", Cause: "forbidden: exceeded quota: pods=3", Generation: 2}
		}, true, nil, "TFTFFF Stalled CreateFailed", "g2: pods cannot be created: forbidden: exceeded quota: pods=3"),
		row("Rolling, what serves has lost its pods", func(e *status.Engine) { rolling(e); e.PodsReady = 0 }, true, nil, "FTTFFF RollingOut InsufficientReplicas", "g1 has 0 of 2 replicas"),
		row("Rolling, no pod of what serves can be created", func(e *status.Engine) {
			rolling(e)
			e.PodsReady = 0
			e.Warning = status.Warning{Reason: "FailedCreate", Cause: "forbidden: exceeded quota", Generation: 1}
		}, true, nil, "FTTFFF RollingOut CreateFailed", "g1: pods cannot be created: forbidden: exceeded quota"),
		row("PodsNotReady", func(e *status.Engine) { e.PodsReady = 1 }, true, nil, "FTFFFF RollingOut AsExpected", ""),
		row("ExternalFinalizer", func(e *status.Engine) {
			e.ForeignFinalizers = "A finalizer keeps StatefulSet e-g1."
			e.Object.DeletionTimestamp = &metav1.Time{}
		}, false, nil, "TTFFFF Deleting AsExpected", ""),
		row("ApplyRefused, invalid", applyFails(status.Warning{Message: "spec.x: invalid", Terminal: true}), false, errors.New("invalid"), "TFTFFF ApplyRefused ApplyRefused", "spec.x: invalid"),
		row("ApplyRefused, transient", applyFails(status.Warning{Message: "exceeded quota"}), false, errors.New("exceeded quota"), "TTTFFF SpecNotObserved ReconcileError", "exceeded quota"),
	}
}

func instanceReasons() []reasonRow {
	available := func(c status.Component) status.Component {
		s := &c.Deployment.Status
		s.UpdatedReplicas, s.AvailableReplicas = s.ReadyReplicas, s.ReadyReplicas
		c.Deployment.Spec.Replicas = &c.Replicas
		return c
	}
	row := func(name string, metadata, gateway status.Component, change func(*status.Instance), want, message string) reasonRow {
		i := instanceWith(metadata, gateway)
		i.Object.Status.ObservedGeneration = 3
		i.Object.Spec.Metadata.Postgres = &v1alpha1.PostgresSpec{}
		if change != nil {
			change(&i)
		}
		i.Object.Status = i.Next(testTime)
		return reasonRow{name, ForInstance(i, nil), want, message}
	}
	applied := func(i *status.Instance) { i.Applied = true }
	onInstance := func(reason string, terminal bool) func(*status.Instance) {
		return func(i *status.Instance) {
			i.Failure = &status.Failure{Reason: reason, Message: "the cause", Terminal: terminal}
		}
	}
	ok, starting := available(availableComponent()), available(unreadyAs(""))
	failing := func(reason string, terminal bool) status.Component {
		return failedWith(available(availableComponent()), reason, terminal)
	}
	stopped := status.Component{Desired: true, Deployment: &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Replicas: new(int32)}}}
	scalingDown := *stopped.Deployment.DeepCopy()
	scalingDown.Status.Replicas = 1
	stop := func(i *status.Instance) {
		applied(i)
		i.Object.Annotations = map[string]string{v1alpha1.AnnotationCommand: v1alpha1.CommandStopped}
	}
	return []reasonRow{
		row("AllComponentsReady", ok, ok, applied, "TFFTFF AsExpected AsExpected", ""),
		row("Ready", ok, starting, applied, "FTFFFF RollingOut AsExpected", ""),
		row("Initializing", status.Component{Replicas: 1}, status.Component{Replicas: 1}, nil, "FTFFFF SpecNotObserved AsExpected", ""),
		row("Provisioning", starting, ok, applied, "FTFFFF RollingOut AsExpected", ""),
		row("ProbeFailed", ok, available(unreadyAs("NewReplicaSetAvailable")), applied, "FTFFFF RollingOut AsExpected", ""),
		row("NotSupported", ok, ok, onInstance(v1alpha1.ReasonNotSupported, true), "TFTFFF NotSupported NotSupported", "the cause"),
		row("TemplateRejected", ok, failing(v1alpha1.ReasonTemplateRejected, true), nil, "TFTFFF TemplateRejected TemplateRejected", "the cause"),
		row("EnsureFailed, transient", failing(v1alpha1.ReasonEnsureFailed, false), ok, nil, "TTTFFF SpecNotObserved ReconcileError", "the cause"),
		row("EnsureFailed, invalid", failing(v1alpha1.ReasonEnsureFailed, true), ok, nil, "TFTFFF EnsureFailed EnsureFailed", "the cause"),
		row("PostgresEnsureFailed, invalid", failing(v1alpha1.ReasonPostgresEnsureFailed, true), ok, nil, "TFTFFF PostgresEnsureFailed PostgresEnsureFailed", "the cause"),
		row("PostgresSecretPreflightFailed", failing(v1alpha1.ReasonPostgresSecretPreflightFailed, false), ok, nil,
			"TFTFFF PostgresSecretPreflightFailed PostgresSecretPreflightFailed", "the cause"),
		row("PostgresCredentialsLost", failing(v1alpha1.ReasonPostgresCredentialsLost, true), ok, nil, "TFTFFF PostgresCredentialsLost PostgresCredentialsLost", "the cause"),
		row("Provisioning, the database's pod cannot be created", starting, ok, func(i *status.Instance) {
			applied(i)
			i.Object.Spec.Metadata.Postgres = nil
			i.Database, i.DatabaseReplicas = &appsv1.StatefulSet{}, 1
			i.DatabaseFailure = "forbidden: exceeded quota"
		}, "FTTFFF RollingOut CreateFailed", "postgres: pods cannot be created: forbidden: exceeded quota"),
		row("DeletionBlocked", ok, ok, func(i *status.Instance) {
			applied(i)
			onInstance(v1alpha1.ReasonDeletionBlocked, false)(i)
			i.Object.DeletionTimestamp = &metav1.Time{}
		}, "TTFFFF Deleting AsExpected", ""),
		row("Stopping", status.Component{Desired: true, Deployment: &scalingDown}, stopped, stop, "FTFFFF Stopping Stopped", ""),
		row("Stopped", stopped, stopped, stop, "FFFFFT AsExpected Stopped", ""),
	}
}

package observation_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/kube/apply"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/component"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/lifecycle"
)

// reasonRow holds the phase and the six conditions of one reason.
type reasonRow struct {
	name  string // the reason, and the case if a reason has several rows
	set   func(*scenario)
	phase v1alpha1.Phase
	// want are the statuses of Available, Progressing, Degraded, Upgradable, Paused and
	// Stopped, in this order: True, False or Unknown; and the reasons of Progressing and Degraded.
	want string
	text string // in the message of Progressing or Degraded
}

func reasonRows() []reasonRow {
	return slices.Concat(taskReasonRows(), changeReasonRows(), applyReasonRows(), commandReasonRows(), componentReasonRows())
}

const (
	pending, active, complete, failed = v1alpha1.TaskPending, v1alpha1.TaskRunning, v1alpha1.TaskComplete, v1alpha1.TaskFailed

	wait, hold, done = lifecycle.Wait, lifecycle.Hold, lifecycle.Apply

	ready      = "TFFTFF AsExpected AsExpected"
	inProgress = "FTFFFF JobRunning AsExpected"
)

func decided(mode lifecycle.Mode, phase v1alpha1.Phase, reason string, states ...v1alpha1.TaskState) func(*scenario) {
	return func(m *scenario) { m.decide(mode, phase, reason, states...) }
}

func drained(set func(*scenario)) func(*scenario) { return func(m *scenario) { set(m); m.drained() } }

func settled(reason string, more ...func(*scenario)) func(*scenario) {
	return func(m *scenario) {
		m.decide(done, "", reason, complete, complete)
		for _, f := range more {
			f(m)
		}
	}
}

func fails(err error) func(*scenario) {
	return settled(v1alpha1.ReasonLifecycleComplete, func(m *scenario) { m.failure, m.applied = err, false })
}

func command(c string) func(*scenario) {
	return func(m *scenario) { m.sup.Annotations = map[string]string{v1alpha1.AnnotationCommand: c} }
}

func first(m *scenario) {
	m.sup.Status = v1alpha1.SupersetStatus{}
	m.snapshot.Deployments, m.snapshot.Services = nil, nil
}

func unavailable(m *scenario) {
	s := &m.snapshot.Deployments[component.WebServerName].Status
	s.ReadyReplicas, s.AvailableReplicas = 0, 0
}

func taskReasonRows() []reasonRow {
	return []reasonRow{
		{"LifecycleComplete", settled("LifecycleComplete"), "Running", ready, ""},
		{"LifecycleDisabled", settled("LifecycleDisabled"), "Running", ready, ""},
		{"NoLifecycleTasks", settled("NoLifecycleTasks"), "Running", ready, ""},
		{"TaskComplete", settled("LifecycleComplete"), "Running", ready, ""},
		{"TaskInProgress", drained(decided(wait, "", "TaskInProgress", active, pending)), "Upgrading", inProgress, "Waiting for init, migrate."},
		{"TaskRetrying", drained(decided(wait, "", "TaskRetrying", pending, pending)), "Upgrading", inProgress, "Waiting for"},
		{"TaskCannotStart", drained(decided(wait, "", "TaskCannotStart", active, pending)), "Upgrading", inProgress, "Waiting for"},
		{"TaskCannotStart, its pod cannot be created", drained(func(m *scenario) {
			m.decide(wait, "", "TaskCannotStart", active, pending)
			m.snapshot.CreateFailures = map[string]string{"migrate": "forbidden: exceeded quota"}
		}), "Upgrading", "FTTFFF JobRunning CreateFailed", "Waiting for init, migrate. migrate: pods cannot be created: forbidden: exceeded quota"},
		{"TaskCannotStart, its pod cannot be created at the first deployment", func(m *scenario) {
			first(m)
			m.decide(wait, "", "TaskCannotStart", active, pending)
			m.decision.Initial, m.decision.Upgrading = true, false
			m.snapshot.CreateFailures = map[string]string{"migrate": "serviceaccount not found"}
		}, "Initializing", "FTTFFF JobRunning CreateFailed", "migrate: pods cannot be created: serviceaccount not found"},
		{"TaskFailed", decided(hold, "", "TaskFailed", failed, pending), "Blocked", "TFTFFF JobFailed JobFailed", "raise maxRetries"},
		{"TaskFailed, drained", drained(decided(wait, "", "TaskFailed", failed, pending)), "Blocked", "FFTFFF JobFailed JobFailed", "raise maxRetries"},
		{"TaskFailed, at the first deployment", func(m *scenario) {
			first(m)
			m.decide(hold, "", "TaskFailed", failed, pending)
			m.decision.Initial = true
		}, "Blocked", "FFTFFF JobFailed JobFailed", "raise maxRetries"},
		{"TaskWaiting", drained(decided(wait, "", "TaskWaiting", pending, pending)), "Upgrading", inProgress, ""},
		{"Draining", decided(wait, "", "Draining", pending, pending), "Upgrading", "TTFFFF JobRunning AsExpected", ""},
		{"ComponentsDrained", drained(decided(wait, "", "ComponentsDrained", pending, pending)), "Upgrading", inProgress, ""},
	}
}

func changeReasonRows() []reasonRow {
	return []reasonRow{
		{
			"DowngradeBlocked", decided(hold, v1alpha1.PhaseBlocked, "DowngradeBlocked", complete, complete), "Blocked",
			"TFTFFF DowngradeBlocked DowngradeBlocked", "Do this.",
		},
		{
			"DowngradeBlocked, between the tasks", decided(hold, v1alpha1.PhaseBlocked, "DowngradeBlocked", complete, pending), "Blocked",
			"TFTFFF DowngradeBlocked DowngradeBlocked", "Do this.",
		},
		{
			"AwaitingApproval", decided(hold, v1alpha1.PhaseAwaitingApproval, "AwaitingApproval", complete, complete), "AwaitingApproval",
			"TFFFFF AwaitingApproval AsExpected", "Do this.",
		},
		{
			"InvalidCronSchedule", decided(hold, v1alpha1.PhaseBlocked, "InvalidCronSchedule", complete, complete), "Blocked",
			"TFTFFF InvalidCronSchedule InvalidCronSchedule", "Do this.",
		},
		{
			"InvalidSpec", func(m *scenario) { m.violations = []string{"spec.valkey: requires a host"} }, "Blocked",
			"TFTFFF InvalidSpec InvalidSpec", "The spec is invalid: spec.valkey: requires a host. Reconciliation is blocked until the spec is fixed.",
		},
		{
			"InvalidSpec, since the creation", func(m *scenario) { first(m); m.violations = []string{"spec.valkey"} }, "Blocked",
			"FFTFFF InvalidSpec InvalidSpec", "spec.valkey",
		},
	}
}

func applyReasonRows() []reasonRow {
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "Service"}, "x-web-server", nil)
	return []reasonRow{
		{
			"NotOwned, before a task", decided(hold, v1alpha1.PhaseBlocked, "NotOwned", pending, pending), "Blocked",
			"TFTFFF NotOwned NotOwned", "Do this.",
		},
		{
			"NotOwned", fails(fmt.Errorf("apply Service %q: %w", "x-web-server", apply.ErrNotOwned)), "Blocked",
			"TFTFFF NotOwned NotOwned", "Delete or rename the object",
		},
		{
			"NotOwned, the Job of a task", drained(func(m *scenario) {
				m.decide(wait, "", "TaskInProgress", active, pending)
				m.failure = fmt.Errorf("create job %q: %w", "x-migrate", apply.ErrNotOwned)
			}), "Blocked",
			"FFTFFF NotOwned NotOwned", "Delete or rename the object",
		},
		{
			"NotOwned, during a task", drained(func(m *scenario) {
				m.decide(wait, "", "TaskInProgress", active, pending)
				m.snapshot.Jobs = map[string]*batchv1.Job{"migrate": {}}
				m.failure = fmt.Errorf("apply Service %q: %w", "x-web-server", apply.ErrNotOwned)
			}), "Blocked",
			"FTTFFF JobRunning NotOwned", "Delete or rename the object",
		},
		{"ApplyRefused", fails(fmt.Errorf("apply: %w", invalid)), "Blocked", "TFTFFF ApplyRefused ApplyRefused", "is invalid. Correct the spec."},
		{"ReconcileError", fails(errors.New("forbidden")), "Running", "TTTFFF SpecNotObserved ReconcileError", "forbidden"},
	}
}

func commandReasonRows() []reasonRow {
	return []reasonRow{
		{"SchedulesValid", settled("LifecycleComplete"), "Running", ready, ""},
		{"NotSuspended", settled("LifecycleComplete"), "Running", ready, ""},
		{
			"Suspended", func(m *scenario) { suspend := true; m.sup.Spec.Suspend = &suspend }, "Suspended",
			"TFFFTF ReconciliationPaused AsExpected", "paused by spec.suspend",
		},
		{
			"Suspended, since the creation", func(m *scenario) { first(m); suspend := true; m.sup.Spec.Suspend = &suspend }, "Suspended",
			"FFFFTF ReconciliationPaused ReconciliationPaused", "before the spec was applied",
		},
		{"OperatorCommand", command(v1alpha1.CommandPaused), "Suspended", "TFFFTF ReconciliationPaused AsExpected", ""},
		{"ReconciliationPaused", command(v1alpha1.CommandPaused), "Suspended", "TFFFTF ReconciliationPaused AsExpected", ""},
		{"Stopped", settled("LifecycleComplete", command(v1alpha1.CommandStopped), func(m *scenario) {
			d := m.snapshot.Deployments[component.WebServerName]
			d.Spec.Replicas, d.Status = new(int32), appsv1.DeploymentStatus{}
		}), "Stopped", "FFFFFT AsExpected Stopped", ""},
	}
}

func componentReasonRows() []reasonRow {
	return []reasonRow{
		{"FirstDeployment", func(m *scenario) {
			first(m)
			m.decide(wait, "", "TaskInProgress", active, pending)
			m.decision.Initial, m.decision.Upgrading = true, false
		}, "Initializing", "FTUFFF JobRunning SpecNotObserved", ""},
		{"ImageChanged", drained(decided(wait, "", "TaskInProgress", active, pending)), "Upgrading", inProgress, ""},
		{"AllComponentsReady", settled("LifecycleComplete"), "Running", ready, ""},
		{"NoComponentsEnabled", settled("LifecycleComplete", func(m *scenario) {
			m.sup.Spec.WebServer = nil
			m.snapshot.Deployments, m.snapshot.Services = nil, nil
		}), "Running", ready, ""},
		{"ComponentsNotReady", settled("LifecycleComplete", unavailable), "Degraded", "FTFFFF RollingOut AsExpected", ""},
		{"ComponentsNotReady, pods cannot be created", settled("LifecycleComplete", unavailable, func(m *scenario) {
			m.snapshot.Deployments[component.WebServerName].Status.Conditions = []appsv1.DeploymentCondition{
				{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Message: `pods "x-1" is forbidden: exceeded quota`},
			}
		}), "Degraded", "FFTFFF Stalled CreateFailed", "webServer: pods cannot be created: forbidden: exceeded quota"},
		{"ComponentsNotReady, a rollout exceeded its deadline", settled("LifecycleComplete", unavailable, stalled), "Degraded", "FFTFFF Stalled Stalled", "webServer is stalled."},
		{"ComponentsNotReady, a rollout exceeded its deadline while the old pod serves", settled("LifecycleComplete", stalled), "Degraded", "TFTFFF Stalled Stalled", "webServer is stalled."},
	}
}

// TestReasonsMatchConditions covers all reasons: the phase and the six conditions of each.
func TestReasonsMatchConditions(t *testing.T) {
	pinned := slices.Concat(conditions.TerminalReasons(), conditions.WaitingReasons(), []string{conditions.ReasonJobFailed, conditions.ReasonReconciliationPaused})
	for _, row := range reasonRows() {
		t.Run(row.name, func(t *testing.T) {
			m := running()
			row.set(m)
			phase, list := m.compute(t, time.Hour) // after all hold-downs
			var got strings.Builder
			for _, kind := range conditions.TypesOf(false) {
				got.WriteString(string(list[kind].Status[0]))
			}
			progressing, degraded := list[conditions.TypeProgressing], list[conditions.TypeDegraded]
			got.WriteString(" " + progressing.Reason + " " + degraded.Reason)
			if got.String() != row.want || phase != row.phase {
				t.Errorf("phase %s and %s, want %s and %s\n%+v", phase, got.String(), row.phase, row.want, list)
			}
			if !strings.Contains(progressing.Message+degraded.Message, row.text) {
				t.Errorf("message of Progressing %q, of Degraded %q; want %q in one of them", progressing.Message, degraded.Message, row.text)
			}
			if _, later := m.compute(t, 15*time.Second); degraded.Reason == conditions.ReasonCreateFailed && later[conditions.TypeDegraded].Message != degraded.Message {
				t.Errorf("after 15 s, Degraded is %+v", later[conditions.TypeDegraded])
			}
			for _, c := range []metav1.Condition{progressing, degraded, list[conditions.TypeUpgradable]} {
				if slices.Contains(pinned, progressing.Reason) && c.ObservedGeneration != 4 {
					t.Errorf("%s has observedGeneration %d, want the latest one", c.Type, c.ObservedGeneration)
				}
			}
		})
	}
}

// TestReasonsHaveRows checks that every reason of the operator has a row.
func TestReasonsHaveRows(t *testing.T) {
	rows := map[string]bool{}
	for _, row := range reasonRows() {
		reason, _, _ := strings.Cut(row.name, ",")
		rows[reason] = true
	}
	found := 0
	for _, path := range []string{"../../api/v1alpha1/names.go", "../status/phase.go", "outcome.go"} {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			v, ok := n.(*ast.ValueSpec)
			if !ok || !strings.HasPrefix(strings.ToLower(v.Names[0].Name), "reason") {
				return true
			}
			if literal, ok := v.Values[0].(*ast.BasicLit); ok {
				found++
				if reason := strings.Trim(literal.Value, `"`); !rows[reason] {
					t.Errorf("no row for %s of %s", reason, path)
				}
			}
			return true
		})
	}
	if found < 25 {
		t.Errorf("only %d reasons were found", found)
	}
}

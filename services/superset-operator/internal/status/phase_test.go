package status_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/lifecycle"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/snapshot"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/status"
)

const (
	migrating = v1alpha1.LifecycleMigrating
	restoring = v1alpha1.LifecycleRestoring
	complete  = v1alpha1.LifecycleComplete
)

type phaseCase struct {
	sup        *v1alpha1.Superset
	snapshot   *snapshot.Snapshot
	decision   *lifecycle.Decision
	violations []string
	edit       func(*status.Input)
	want       v1alpha1.Phase
	// lifecycle is the lifecycle phase afterwards.
	lifecycle v1alpha1.LifecyclePhase
}

func checkPhase(t *testing.T, cases map[string]phaseCase) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := computeInput(t, tc.sup, tc.snapshot, tc.decision, func(in *status.Input) {
				in.Violations = tc.violations
				if tc.edit != nil {
					tc.edit(in)
				}
			})
			if got.Phase != tc.want {
				t.Errorf("phase: want %s, got %s", tc.want, got.Phase)
			}
			if tc.lifecycle != "" && got.Lifecycle.Phase != tc.lifecycle {
				t.Errorf("lifecycle phase: want %s, got %s", tc.lifecycle, got.Lifecycle.Phase)
			}
		})
	}
}

func TestPhaseDuringLifecycle(t *testing.T) {
	checkPhase(t, map[string]phaseCase{
		"the first tasks run": {
			sup: superset(), snapshot: snapshotOf(nil), decision: decision(false, true, false, migrating),
			want: v1alpha1.PhaseInitializing, lifecycle: migrating,
		},
		"the tasks are complete but no component exists": {
			sup: superset(lastStatus(v1alpha1.PhaseInitializing, "")), snapshot: snapshotOf(nil), decision: decision(true, true, false, restoring),
			want: v1alpha1.PhaseInitializing, lifecycle: restoring,
		},
		"another image": {
			sup: superset(lastStatus(v1alpha1.PhaseRunning, "apache/superset:5.0.0")), snapshot: snapshotOf(deployment(2, 2)),
			decision: decision(false, false, true, migrating),
			want:     v1alpha1.PhaseUpgrading, lifecycle: migrating,
		},
		"the upgraded components become ready": {
			sup: superset(lastStatus(v1alpha1.PhaseUpgrading, image)), snapshot: snapshotOf(deployment(2, 1)), decision: decision(true, false, false, restoring),
			want: v1alpha1.PhaseUpgrading, lifecycle: restoring,
		},
		"a task runs again for a reason other than the image": {
			sup: superset(lastStatus(v1alpha1.PhaseRunning, image)), snapshot: snapshotOf(deployment(2, 2)),
			decision: decision(false, false, false, v1alpha1.LifecycleInitializing),
			want:     v1alpha1.PhaseRunning, lifecycle: v1alpha1.LifecycleInitializing,
		},
	})
}

func TestPhaseFollowsComponents(t *testing.T) {
	checkPhase(t, map[string]phaseCase{
		"the components are ready": {
			sup: superset(lastStatus(v1alpha1.PhaseInitializing, image)), snapshot: snapshotOf(deployment(2, 2)), decision: decision(true, false, false, restoring),
			want: v1alpha1.PhaseRunning, lifecycle: complete,
		},
		"a replica is missing": {
			sup: superset(lastStatus(v1alpha1.PhaseRunning, image)), snapshot: snapshotOf(deployment(2, 1)), decision: decision(true, false, false, complete),
			want: v1alpha1.PhaseDegraded, lifecycle: complete,
		},
		"refused": {
			sup: superset(), snapshot: snapshotOf(nil), violations: []string{"spec.valkey"}, want: v1alpha1.PhaseBlocked,
		},
		"no components at all": {
			sup: superset(lastStatus(v1alpha1.PhaseInitializing, image), func(s *v1alpha1.Superset) { s.Spec.WebServer = nil }), snapshot: snapshotOf(nil),
			decision: decision(true, false, false, complete), want: v1alpha1.PhaseRunning, lifecycle: complete,
		},
	})
}

func TestPhaseOfPauseAndStop(t *testing.T) {
	checkPhase(t, map[string]phaseCase{
		"suspended": {
			sup: superset(lastStatus(v1alpha1.PhaseRunning, image), func(s *v1alpha1.Superset) { s.Spec.Suspend = new(true) }), snapshot: snapshotOf(deployment(2, 2)),
			want: v1alpha1.PhaseSuspended,
		},
		"paused by annotation": {
			sup: superset(lastStatus(v1alpha1.PhaseRunning, image), annotated("Paused")), snapshot: snapshotOf(deployment(2, 2)),
			want: v1alpha1.PhaseSuspended,
		},
		"a stop keeps the phase while pods exist": {
			sup: superset(lastStatus(v1alpha1.PhaseRunning, image), annotated("Stopped")), snapshot: snapshotOf(deployment(0, 1, func(d *appsv1.Deployment) { d.Status.Replicas = 1 })),
			decision: decision(true, false, false, complete), want: v1alpha1.PhaseRunning, lifecycle: complete,
		},
		"stopped when the last pod is deleted": {
			sup: superset(lastStatus(v1alpha1.PhaseRunning, image), annotated("Stopped")), snapshot: snapshotOf(deployment(0, 0)),
			decision: decision(true, false, false, complete), want: v1alpha1.PhaseStopped, lifecycle: complete,
		},
		"a stop keeps the phase while a terminating pod runs": {
			sup: superset(lastStatus(v1alpha1.PhaseRunning, image), annotated("Stopped")), snapshot: snapshotOf(deployment(0, 0), corev1.PodRunning),
			decision: decision(true, false, false, complete), want: v1alpha1.PhaseRunning, lifecycle: complete,
		},
		"stopped although pods that ended are left": {
			sup: superset(lastStatus(v1alpha1.PhaseRunning, image), annotated("Stopped")), snapshot: snapshotOf(deployment(0, 0), corev1.PodFailed, corev1.PodSucceeded),
			decision: decision(true, false, false, complete), want: v1alpha1.PhaseStopped, lifecycle: complete,
		},
	})
}

// TestPhaseOfIncompleteReconcile uses reconciles in which an object could not be applied for a reason that may pass.
func TestPhaseOfIncompleteReconcile(t *testing.T) {
	incomplete := func(in *status.Input) {
		in.Applied, in.Incomplete = false, &contract.Reconcile{Reason: "ReconcileError", Message: "Quota."}
	}
	unattempted := func(in *status.Input) { in.Applied, in.Unattempted = false, true }
	cases := map[string]phaseCase{}
	for _, old := range []v1alpha1.Phase{
		v1alpha1.PhaseRunning, v1alpha1.PhaseDegraded, v1alpha1.PhaseStopped, v1alpha1.PhaseSuspended, v1alpha1.PhaseBlocked,
	} {
		for name, d := range map[string]*appsv1.Deployment{"ready": deployment(2, 2), "down": deployment(2, 0), "missing": nil} {
			sup := superset(lastStatus(old, image))
			at := string(old) + ", " + name
			cases[at] = phaseCase{sup: sup, snapshot: snapshotOf(d), decision: decision(true, false, false, complete), edit: incomplete, want: v1alpha1.PhaseDegraded}
			cases[at+", before the steps"] = phaseCase{sup: sup, snapshot: snapshotOf(d), decision: decision(true, false, false, complete), edit: unattempted, want: old}
		}
	}
	cases["an upgrade is not complete"] = phaseCase{
		sup: superset(lastStatus(v1alpha1.PhaseUpgrading, image)), snapshot: snapshotOf(deployment(2, 2)), decision: decision(true, false, false, restoring),
		edit: incomplete, want: v1alpha1.PhaseUpgrading, lifecycle: restoring,
	}
	checkPhase(t, cases)
}

// TestPhaseStaysBlockedDuringRetry uses a reconcile after one of the same generation that failed permanently.
func TestPhaseStaysBlockedDuringRetry(t *testing.T) {
	blocked := func(generation int64) *v1alpha1.Superset {
		return superset(lastStatus(v1alpha1.PhaseBlocked, "apache/superset:5.0.0"), func(s *v1alpha1.Superset) { s.Status.ObservedGeneration = generation })
	}
	upgrading := decision(false, false, true, v1alpha1.LifecycleChecking)
	unattempted := func(in *status.Input) { in.Unattempted = true }
	checkPhase(t, map[string]phaseCase{
		"before the steps":                       {sup: blocked(3), snapshot: snapshotOf(deployment(2, 2)), decision: upgrading, edit: unattempted, want: v1alpha1.PhaseBlocked},
		"before the steps of another generation": {sup: blocked(2), snapshot: snapshotOf(deployment(2, 2)), decision: upgrading, edit: unattempted, want: v1alpha1.PhaseUpgrading},
		"after the steps":                        {sup: blocked(3), snapshot: snapshotOf(deployment(2, 2)), decision: upgrading, want: v1alpha1.PhaseUpgrading},
	})
}

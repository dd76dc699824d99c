package status_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/lifecycle"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/snapshot"
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
	want       v1alpha1.Phase
	// lifecycle is the lifecycle phase afterwards.
	lifecycle v1alpha1.LifecyclePhase
}

func checkPhase(t *testing.T, cases map[string]phaseCase) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := compute(t, tc.sup, tc.snapshot, tc.decision, tc.violations...)
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
	})
}

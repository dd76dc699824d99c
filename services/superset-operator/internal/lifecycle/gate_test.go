package lifecycle_test

import (
	"testing"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/lifecycle"
)

var (
	upgradeToken   = lifecycle.ApprovalToken("superset:1.0.0", "superset:2.0.0")
	downgradeToken = lifecycle.ApprovalToken("superset:2.0.0", "superset:1.0.0")
)

type gateCase struct {
	in     lifecycle.Input
	mode   lifecycle.Mode
	reason string
	events string
	phase  v1alpha1.Phase
}

func checkGate(t *testing.T, cases map[string]gateCase) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := lifecycle.Decide(tc.in)
			if d.Mode != tc.mode || d.Condition.Reason != tc.reason || reasons(d) != tc.events || d.Phase != tc.phase {
				t.Errorf("got %s, %s, events %q, phase %q", d.Mode, d.Condition.Reason, reasons(d), d.Phase)
			}
			if d.Phase != "" && string(d.Status.Phase) != string(d.Phase) {
				t.Errorf("lifecycle phase %s", d.Status.Phase)
			}
		})
	}
}

func TestGateUpgrade(t *testing.T) {
	checkGate(t, map[string]gateCase{
		"an automatic upgrade starts immediately": {
			in: change("1.0.0", "2.0.0"), mode: lifecycle.Wait, reason: "Draining", events: "UpgradeStarted DrainingStarted",
		},
		"a supervised upgrade awaits approval": {
			in: change("1.0.0", "2.0.0", supervised), mode: lifecycle.Hold, reason: "AwaitingApproval",
			events: "AwaitingApproval", phase: v1alpha1.PhaseAwaitingApproval,
		},
		"a supervised upgrade emits its event once": {
			in: decideOnce(change("1.0.0", "2.0.0", supervised)), mode: lifecycle.Hold, reason: "AwaitingApproval", phase: v1alpha1.PhaseAwaitingApproval,
		},
		"an approval before the change is stored is ignored": {
			in: change("1.0.0", "2.0.0", supervised, approve(upgradeToken)), mode: lifecycle.Hold, reason: "AwaitingApproval",
			events: "AwaitingApproval", phase: v1alpha1.PhaseAwaitingApproval,
		},
		"an approval of a stored change starts the upgrade": {
			in: decideOnce(change("1.0.0", "2.0.0", supervised), approve(upgradeToken)), mode: lifecycle.Wait, reason: "Draining",
			events: "UpgradeStarted UpgradeApproved DrainingStarted",
		},
		"an approval of another change is ignored": {
			in: decideOnce(change("1.0.0", "2.0.0", supervised), approve(downgradeToken)), mode: lifecycle.Hold, reason: "AwaitingApproval", phase: v1alpha1.PhaseAwaitingApproval,
		},
		"an approved change continues without the annotation": {
			in:   decideOnce(decideOnce(change("1.0.0", "2.0.0", supervised), approve(upgradeToken)), approve("")),
			mode: lifecycle.Wait, reason: "Draining",
		},
		"a started change requires no approval": {
			in: decideOnce(change("1.0.0", "2.0.0"), supervised), mode: lifecycle.Wait, reason: "Draining",
		},
	})
}

func TestGateDowngrade(t *testing.T) {
	checkGate(t, map[string]gateCase{
		"a downgrade is blocked": {
			in: change("2.0.0", "1.0.0"), mode: lifecycle.Hold, reason: "DowngradeBlocked", events: "DowngradeBlocked", phase: v1alpha1.PhaseBlocked,
		},
		"an upgrade approval does not unblock a downgrade": {
			in: decideOnce(change("2.0.0", "1.0.0"), approve(downgradeToken)), mode: lifecycle.Hold, reason: "DowngradeBlocked", phase: v1alpha1.PhaseBlocked,
		},
		"a revert after the migration is a downgrade, although the tasks did not complete": {
			in: revertTo("1.0.0"), mode: lifecycle.Hold, reason: "DowngradeBlocked", events: "DowngradeBlocked", phase: v1alpha1.PhaseBlocked,
		},
		"a partial revert after the migration is a downgrade": {
			in: revertTo("1.5.0"), mode: lifecycle.Hold, reason: "DowngradeBlocked", events: "DowngradeBlocked", phase: v1alpha1.PhaseBlocked,
		},
		"an approved revert runs the previous image again": {
			in: decideOnce(revertTo("1.0.0"), approveDowngrade(downgradeToken)), mode: lifecycle.Apply, reason: "LifecycleComplete",
			events: "DowngradeApproved UpgradeCompleted",
		},
		"an approval of the change before the migration is ignored": {
			in:   decideOnce(revertTo("1.5.0"), approveDowngrade(lifecycle.ApprovalToken("superset:1.0.0", "superset:1.5.0"))),
			mode: lifecycle.Hold, reason: "DowngradeBlocked", phase: v1alpha1.PhaseBlocked,
		},
		"a newer image than the migrated one continues": {
			in: revertTo("2.1.0"), mode: lifecycle.Wait, reason: "Draining", events: "UpgradeStarted DrainingStarted",
		},
	})
}

func TestGateRequiresNoApproval(t *testing.T) {
	checkGate(t, map[string]gateCase{
		"tags without an order are accepted with a warning": {
			in: change("latest", "2.0.0"), mode: lifecycle.Wait, reason: "Draining",
			events: "UpgradeStarted VersionComparisonSkipped DrainingStarted",
		},
		"the warning is emitted once": {in: decideOnce(change("latest", "2.0.0")), mode: lifecycle.Wait, reason: "Draining"},
		"a disabled lifecycle requires no approval": {
			in:   change("2.0.0", "1.0.0", func(in *lifecycle.Input) { in.Disabled, in.Steps = true, nil }),
			mode: lifecycle.Apply, reason: "LifecycleDisabled",
		},
		"the first image requires no approval": {
			in:   change("", "1.0.0", supervised, lastImage(""), func(in *lifecycle.Input) { in.Workloads = lifecycle.Workloads{} }),
			mode: lifecycle.Wait, reason: "TaskInProgress", events: "LifecycleStarted TaskStarted",
		},
	})
}

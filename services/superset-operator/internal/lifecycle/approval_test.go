package lifecycle_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/lifecycle"
)

// change returns an input with complete tasks for one image and a spec with another image.
func change(from, to string, edit ...func(*lifecycle.Input)) lifecycle.Input {
	in := input(persisted(entry(v1alpha1.TaskComplete, "m1", "m1", 1), entry(v1alpha1.TaskComplete, "i1", "i1", 1)), lastImage("superset:"+from))
	in.Status.Phase = v1alpha1.LifecycleComplete
	in.Workloads = serving
	in.Image = "superset:" + to
	for i := range in.Steps {
		in.Steps[i].Image = in.Image
		in.Steps[i].Checksum += to
	}
	for _, e := range edit {
		e(&in)
	}
	return in
}

// revertTo returns a change from 1.0.0 whose migration to 2.0.0 is complete, after which the spec has another image.
// The components were not drained.
func revertTo(to string) lifecycle.Input {
	in := change("1.0.0", to)
	in.Status.Phase, in.Status.MigratedImage = v1alpha1.LifecycleInitializing, "superset:2.0.0"
	in.Status.Migrate.DesiredChecksum, in.Status.Migrate.CompletedChecksum = "m12.0.0", "m12.0.0"
	if to == "1.0.0" {
		in.Steps[0].Checksum, in.Steps[1].Checksum = "m1", "i1"
	}
	return in
}

func supervised(in *lifecycle.Input) { in.Gate.Supervised = true }

// decideOnce decides once before the edits, so that the context of the change is stored.
func decideOnce(in lifecycle.Input, edit ...func(*lifecycle.Input)) lifecycle.Input {
	d := lifecycle.Decide(in)
	in.Status, in.LastImage = d.Status, d.LastImage
	for _, e := range edit {
		e(&in)
	}
	return in
}

func approve(token string) func(*lifecycle.Input) {
	return func(in *lifecycle.Input) { in.Gate.Approval = token }
}

func approveDowngrade(token string) func(*lifecycle.Input) {
	return func(in *lifecycle.Input) { in.Gate.DowngradeApproval = token }
}

func reasons(d lifecycle.Decision) string {
	var out []string
	for _, e := range d.Events {
		out = append(out, e.Reason)
	}
	return strings.Join(out, " ")
}

func TestW6FlavorsAndDateStampsAreNotBlocked(t *testing.T) {
	for from, to := range map[string]string{
		"20260701": "20260615", "2026.07.01": "2026.06.01", "4.1.1": "4.1.1-py311", "6.1.0": "6.1.0-dev",
	} {
		if d := lifecycle.Decide(change(from, to)); d.Phase != "" || d.Mode != lifecycle.Wait {
			t.Errorf("%s to %s: %+v", from, to, d.Condition)
		}
	}
	before := change("6.1.0", "6.1.0-dev")
	before.Status.Phase = v1alpha1.LifecycleBlocked
	before.Status.Upgrade = &v1alpha1.UpgradeContext{
		Direction: v1alpha1.DirectionDowngrade, ApprovalToken: lifecycle.ApprovalToken("superset:6.1.0", "superset:6.1.0-dev"),
	}
	if d := lifecycle.Decide(before); d.Phase != "" || d.Status.Upgrade.Direction != v1alpha1.DirectionRebuild {
		t.Errorf("a change that an earlier operator blocked stays blocked: %+v", d.Condition)
	}
}

func TestW7ChangedRegistryIsRebuild(t *testing.T) {
	in := change("1.0.0", "1.0.0")
	in.Image = "mirror.example:5000/superset:1.0.0"
	d := lifecycle.Decide(in)
	if upgrade := d.Status.Upgrade; upgrade == nil || upgrade.Direction != v1alpha1.DirectionRebuild || d.Mode != lifecycle.Wait {
		t.Errorf("upgrade %+v, %s", upgrade, d.Mode)
	}
}

func TestW17DowngradeRequiresOwnApproval(t *testing.T) {
	down := lifecycle.ApprovalToken("superset:2.0.0", "superset:1.0.0")
	for name, in := range map[string]lifecycle.Input{
		"automatic":  decideOnce(change("2.0.0", "1.0.0"), approveDowngrade(down)),
		"supervised": decideOnce(change("2.0.0", "1.0.0", supervised), approveDowngrade(down)),
	} {
		t.Run(name, func(t *testing.T) {
			d := lifecycle.Decide(in)
			if d.Phase != "" || d.Mode != lifecycle.Wait || reasons(d) != "UpgradeStarted DowngradeApproved DrainingStarted" {
				t.Fatalf("%s, %+v, events %q", d.Mode, d.Condition, reasons(d))
			}
			if d.Status.Upgrade.ApprovedAt == nil {
				t.Error("the approval is not recorded")
			}
			in.Status, in.Gate.DowngradeApproval = d.Status, ""
			if d := lifecycle.Decide(in); d.Phase != "" {
				t.Errorf("without the annotation: %+v", d.Condition)
			}
			in.Status.Phase, in.Image = v1alpha1.LifecycleDraining, "superset:1.1.0"
			if d := lifecycle.Decide(in); d.Phase != v1alpha1.PhaseBlocked {
				t.Errorf("the approval counts for another change: %+v", d.Condition)
			}
		})
	}
	blocked := lifecycle.Decide(change("2.0.0", "1.0.0"))
	if !strings.Contains(blocked.Condition.Message, v1alpha1.AnnotationApproveDowngrade+"="+down) {
		t.Errorf("the message lacks the annotation of the approval: %s", blocked.Condition.Message)
	}
}

func TestUpgradeContext(t *testing.T) {
	d := lifecycle.Decide(change("1.0.0", "2.0.0", supervised))
	want := &v1alpha1.UpgradeContext{
		FromVersion: "1.0.0", ToVersion: "2.0.0", Direction: v1alpha1.DirectionUpgrade, StartedAt: at(0),
		// The hash of {"fromImage":"superset:1.0.0","toImage":"superset:2.0.0"}.
		ApprovalToken: "sha256:427e0c3f1407d08ed24a7787c87dcd71ec9531b51f74ccb77fe538708a8b0fe5",
	}
	if diff := cmp.Diff(want, d.Status.Upgrade); diff != "" {
		t.Errorf("context differs (-want +got):\n%s", diff)
	}
	if !strings.Contains(d.Condition.Message, "kubectl annotate superset x "+v1alpha1.AnnotationApproveUpgrade+"="+want.ApprovalToken) {
		t.Errorf("the message lacks the annotation of the approval: %s", d.Condition.Message)
	}
}

func TestChangedTargetNeedsNewApproval(t *testing.T) {
	in := decideOnce(change("1.0.0", "2.0.0", supervised))
	first := in.Status.Upgrade.ApprovalToken
	in.Image, in.Gate.Approval = "superset:3.0.0", first
	d := lifecycle.Decide(in)
	if d.Phase != v1alpha1.PhaseAwaitingApproval || d.Status.Upgrade.ApprovalToken == first || reasons(d) != "AwaitingApproval" {
		t.Errorf("%+v, %+v, events %q", d.Condition, d.Status.Upgrade, reasons(d))
	}
}

func TestChangedTargetDeletesRunningJobFirst(t *testing.T) {
	in := decideOnce(change("1.0.0", "2.0.0", func(in *lifecycle.Input) { in.Workloads = lifecycle.Workloads{} }),
		supervised, job("migrate", lifecycle.Job{Checksum: "m12.0.0", Attempt: 1, Image: "superset:2.0.0"}))
	in.Image = "superset:3.0.0"
	for i := range in.Steps {
		in.Steps[i].Checksum += "+"
	}
	d := lifecycle.Decide(in)
	want := []lifecycle.Action{{Verb: lifecycle.Delete, Task: "migrate", UID: "job-uid"}}
	if diff := cmp.Diff(want, d.Actions); diff != "" || d.Mode != lifecycle.Wait || d.Phase != v1alpha1.PhaseAwaitingApproval {
		t.Errorf("%s, %q, actions (-want +got):\n%s", d.Mode, d.Phase, diff)
	}
	if d.Status.Migrate.State != v1alpha1.TaskPending || d.Status.Migrate.Attempts != 0 {
		t.Errorf("the status entry has the former target: %+v", d.Status.Migrate)
	}
	in.Status = d.Status
	delete(in.Jobs, "migrate")
	if d := lifecycle.Decide(in); d.Mode != lifecycle.Wait || !d.Drained {
		t.Errorf("mode %s, drained %v, want wait with drained components", d.Mode, d.Drained)
	}
}

func TestApprovalsAreClearedWhenNoChangeIsPending(t *testing.T) {
	withApprovals := func(in *lifecycle.Input) { in.Gate.Approval, in.Gate.DowngradeApproval = "a", "b" }
	for name, tc := range map[string]struct {
		in   lifecycle.Input
		want bool
	}{
		"at rest":                        {change("1.0.0", "1.0.0", withApprovals), true},
		"at rest without approvals":      {change("1.0.0", "1.0.0"), false},
		"while a change awaits approval": {change("1.0.0", "2.0.0", supervised, withApprovals), false},
		"while a change runs":            {change("1.0.0", "2.0.0", withApprovals), false},
		"when the change completes":      {change("1.0.0", "2.0.0", withApprovals, func(in *lifecycle.Input) { in.Steps = nil }), true},
		"with a disabled lifecycle":      {change("1.0.0", "2.0.0", withApprovals, func(in *lifecycle.Input) { in.Disabled = true }), true},
	} {
		if got := lifecycle.Decide(tc.in).ClearApprovals; got != tc.want {
			t.Errorf("%s: got %v, want %v", name, got, tc.want)
		}
	}
}

package lifecycle_test

import (
	"slices"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/lifecycle"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/statusevents"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/version"
)

// checkNext requires a requeue while work remains that no event enqueues.
func (m *model) checkNext(t rapid.TB, in lifecycle.Input, d lifecycle.Decision) {
	nextInput := m.input()
	before := in
	before.Status, before.LastImage = nextInput.Status, nextInput.LastImage
	if !d.Next.IsZero() || !cmp.Equal(before, nextInput, cmpopts.EquateErrors(), cmpopts.IgnoreFields(resolve.TaskKind{}, "StatusRef")) {
		return // it requeues itself, or its own write enqueues it
	}
	if second := lifecycle.Decide(nextInput); !cmp.Equal(d.Status, second.Status) || !cmp.Equal(d.Actions, second.Actions) || d.Mode != second.Mode {
		t.Fatalf("invariant requeues-itself: %v, then %v\n%s", d.Actions, second.Actions, cmp.Diff(d.Status, second.Status))
	}
}

// checkServing checks that existing components run again after a stop if the preflight has rejected the spec, and not before.
func (m *model) checkServing(t rapid.TB, in lifecycle.Input, d lifecycle.Decision) {
	entry := d.Status.Preflight
	rejected := entry != nil && entry.State == v1alpha1.TaskFailed && d.Condition.Reason == v1alpha1.ReasonTaskFailed
	former := older(m.metastore, m.web.image) || older(m.lastImage, m.web.image) // a recorded upgrade that it did not get
	if rejected && !in.Stopped && !d.Status.MetastoreChanged && m.web.exists && m.web.size == 0 && m.desired() > 0 && !former {
		t.Fatalf("invariant old-version-serves: no pods, mode %s, %s", d.Mode, d.Condition.Message)
	}
	if d.ScaleUp && (entry == nil || entry.State != v1alpha1.TaskFailed) {
		t.Fatalf("invariant no-pods-before-the-check: %+v", d.Condition)
	}
	if d.ScaleUp && (m.drainTaskStarted || d.Drain || m.spec.stopped) {
		t.Fatalf("invariant no-pods-on-a-changed-metastore: %+v", d.Condition)
	}
}

// clones reports whether a decision starts a clone.
func clones(d lifecycle.Decision) bool {
	return slices.ContainsFunc(d.Actions, func(a lifecycle.Action) bool { return a.Verb == lifecycle.Create && a.Task == "clone" })
}

// checkStart checks the invariants of a starting task.
func (m *model) checkStart(t rapid.TB, in lifecycle.Input, step *lifecycle.Step) {
	for slug, job := range m.jobs {
		if job.State == lifecycle.JobActive {
			t.Fatalf("invariant one-task-at-a-time: %s begins while %s runs", step.Kind.Slug, slug)
		}
	}
	if len(m.former) > 0 {
		t.Fatalf("invariant one-task-at-a-time: %s begins while %v run", step.Kind.Slug, m.former)
	}
	if step.RequiresDrain && (m.size() > 0 || m.pods() > 0 || len(in.Workloads.Foreign) > 0) {
		t.Fatalf("invariant drained: %s begins while %d pods exist", step.Kind.Slug, m.pods())
	}
	for i := range in.Steps {
		before := &in.Steps[i]
		if before.Kind.Type == step.Kind.Type {
			break
		}
		if before.Kind.Type == resolve.Preflight.Type {
			if m.verifiedKeys != before.KeysChecksum {
				t.Fatalf("invariant keys-are-proven: %s begins with %q after a check of %q", step.Kind.Slug, before.KeysChecksum, m.verifiedKeys)
			}
			if !m.accepted[before.Checksum] {
				t.Fatalf("invariant accepted-first: %s begins with %q", step.Kind.Slug, before.Checksum)
			}
			continue
		}
		if !m.succeeded[before.Kind.Slug][before.Checksum] {
			t.Fatalf("invariant in-order: %s begins before %s completed for %q", step.Kind.Slug, before.Kind.Slug, before.Checksum)
		}
	}
	if m.spec.stopped {
		t.Fatalf("invariant stopped: %s begins", step.Kind.Slug)
	}
	if from := m.fromImage(); from == "" || from == in.Image || m.spec.lifecycleOff {
		return
	}
	if !m.allowed[m.token()] {
		t.Fatalf("invariant one-approval-one-change: %s begins for %+v without an approval", step.Kind.Slug, m.status.Upgrade)
	}
}

// allow records the change that may continue: it was approved, or started when no approval was required. Without a
// pending change it resets the record, so the next change requires an approval.
func (m *model) allow() {
	if m.fromImage() == "" || m.fromImage() == m.spec.image {
		m.allowed = map[string]bool{}
		return
	}
	token := m.token()
	older := version.Compare(m.fromImage(), m.spec.image) == v1alpha1.DirectionDowngrade
	approved := !older && m.approval[0] == token || older && m.approval[1] == token
	if approved || !older && !m.spec.supervised {
		m.allowed[token] = true
	}
}

// approvedNow reports whether the approval of an older image arrives with this decision, and the change was stored before. If
// all tasks are disabled, the components start at once.
func (m *model) approvedNow(in lifecycle.Input) bool {
	return in.Status != nil && in.Status.Upgrade != nil && in.Status.Upgrade.ApprovalToken == m.token() && m.approval[1] == m.token()
}

// checkDecision checks the invariants of every decision.
func (m *model) checkDecision(t rapid.TB, in lifecycle.Input, d lifecycle.Decision) {
	for slug, job := range in.Jobs {
		if d.Mode == lifecycle.Apply && job.State == lifecycle.JobActive {
			t.Fatalf("invariant no-components-during-a-task: %s runs", slug)
		}
	}
	if d.Mode == lifecycle.Apply && len(in.FormerPods) > 0 && in.Status.MetastoreChanged {
		t.Fatalf("invariant no-components-during-a-task: %v run", in.FormerPods)
	}
	if d.Drain && in.Page.Configured && in.Workloads.WebExists && (!in.Page.Routed || !d.Status.MaintenanceActive) {
		t.Fatalf("invariant page-before-drain: %+v", in.Page)
	}
	if d.Drain && len(m.spec.foreign) > 0 {
		t.Fatalf("invariant no-drain-with-foreign-workloads: %+v", d.Condition)
	}
	if d.Drain && d.Mode != lifecycle.Wait {
		t.Fatalf("invariant drain-waits: mode %s", d.Mode)
	}
	if !m.spec.lifecycleOff && d.Mode == lifecycle.Apply && older(m.migrated, in.Image) && !m.allowed[m.token()] && !m.approvedNow(in) {
		t.Fatalf("invariant no-older-components: %s runs after the migration for %s", in.Image, m.migrated)
	}
	if d.Mode == lifecycle.Hold && !d.Initial && m.drainTaskStarted && m.size()+m.pods() == 0 && m.desired() > 0 && len(in.Steps) > 0 {
		t.Fatalf("invariant no-apply-between-the-tasks: %+v", d.Condition)
	}
	if clones(d) && find(in.Steps, "clone").Checksum == m.cloned {
		t.Fatalf("invariant clone-only-when-due: it completed for %q, and the database was not dropped since", m.cloned)
	}
	m.checkGate(t, in, d)
	checkPhase(t, d)
	m.checkKeys(t, in, d)
	same := cmp.Equal(in.Status, d.Status) && in.LastImage == d.LastImage
	if same && len(d.Events) > 0 {
		t.Fatalf("invariant events-once: %v without a change of the state", d.Events)
	}
	if d.Condition.Reason == "" || d.Condition.Message == "" {
		t.Fatalf("invariant condition-has-reason: %+v", d.Condition)
	}
	if !d.Next.IsZero() && d.Next.Before(in.Now) {
		t.Fatalf("invariant next-is-ahead: %s at %s", d.Next, in.Now)
	}
	if d.Mode != lifecycle.Apply {
		return
	}
	nextInput := in
	nextInput.Status, nextInput.LastImage = d.Status, d.LastImage
	if second := lifecycle.Decide(nextInput); !cmp.Equal(d.Status, second.Status) || len(second.Events) > 0 {
		t.Fatalf("invariant settled-is-a-fixpoint: events %v\n%s", second.Events, cmp.Diff(d.Status, second.Status))
	}
	for i := range in.Steps {
		s := &in.Steps[i]
		if s.Kind.Type == resolve.Preflight.Type {
			continue // see checkKeys
		}
		if !m.succeeded[s.Kind.Slug][s.Checksum] && in.Jobs[s.Kind.Slug].State != lifecycle.JobSucceeded {
			t.Fatalf("invariant complete-means-complete: %s never completed for %q", s.Kind.Slug, s.Checksum)
		}
	}
}

// checkPhase checks that the phase is Blocked exactly while a gate, the schedule or a task requires a change by the user.
func checkPhase(t rapid.TB, d lifecycle.Decision) {
	reasons := []string{
		v1alpha1.ReasonTaskFailed, v1alpha1.ReasonNotOwned, v1alpha1.ReasonDowngradeBlocked, v1alpha1.ReasonInvalidCronSchedule,
	}
	if blocked := d.Status.Phase == v1alpha1.LifecycleBlocked; blocked != slices.Contains(reasons, d.Condition.Reason) {
		t.Fatalf("invariant blocked-needs-the-user: phase %s, %+v", d.Status.Phase, d.Condition)
	}
}

// checkStarted checks that a sequence is reported as started once, until it ends or waits for a gate or the schedule.
func (m *model) checkStarted(t rapid.TB, d lifecycle.Decision) {
	token := ""
	if d.Status.Upgrade != nil {
		token = d.Status.Upgrade.ApprovalToken
	}
	for _, e := range d.Events {
		if e.Reason != statusevents.EventUpgradeStarted && e.Reason != statusevents.EventLifecycleStarted {
			continue
		}
		if m.started != nil && *m.started == token {
			t.Fatalf("invariant started-once: %v", d.Events)
		}
		m.started = &token
	}
	phase, reason := d.Status.Phase, d.Condition.Reason
	if phase == v1alpha1.LifecycleComplete || phase == v1alpha1.LifecycleRestoring || phase == v1alpha1.LifecycleAwaitingApproval ||
		reason == v1alpha1.ReasonDowngradeBlocked || reason == v1alpha1.ReasonInvalidCronSchedule {
		m.started = nil
	}
}

// checkKeys checks that components get keys, and are drained for them, only after a check of exactly these keys, and
// likewise for the image and the other settings. Those of a first installation count as accepted, and so do those
// that components ran with when the check was enabled.
func (m *model) checkKeys(t rapid.TB, in lifecycle.Input, d lifecycle.Decision) {
	if len(in.Steps) == 0 || in.Steps[0].Kind.Type != resolve.Preflight.Type {
		return
	}
	preflight := in.Steps[0]
	never := in.Status == nil || in.Status.Preflight == nil && in.Status.LastCompletedChecksums["Preflight"] == ""
	unchecked := never && d.Status.Preflight != nil && d.Status.Preflight.State == v1alpha1.TaskComplete
	if in.LastImage == "" || unchecked {
		m.verifiedKeys = preflight.KeysChecksum
		m.accept(preflight)
	}
	if never {
		return
	}
	if job := in.Jobs["preflight"]; job.State == lifecycle.JobSucceeded && job.Checksum == preflight.Checksum {
		return
	}
	if m.verifiedKeys != preflight.KeysChecksum && d.Mode != lifecycle.Wait {
		t.Fatalf("invariant keys-are-proven: mode %s with %q after a check of %q", d.Mode, preflight.KeysChecksum, m.verifiedKeys)
	}
	gated := d.Status.Phase == v1alpha1.LifecycleAwaitingApproval || d.Status.Phase == v1alpha1.LifecycleBlocked
	switch {
	case d.Mode == lifecycle.Apply && !m.accepted[preflight.Checksum]:
		t.Fatalf("invariant accepted-first: components get %q", preflight.Checksum)
	case d.Mode == lifecycle.Hold && !gated && !m.accepted[preflight.SettingsChecksum]:
		t.Fatalf("invariant accepted-first: components get %q, held", preflight.SettingsChecksum)
	case d.Drain && in.Status.Phase != v1alpha1.LifecycleDraining && (m.verifiedKeys != preflight.KeysChecksum || !m.accepted[preflight.Checksum]):
		t.Fatalf("invariant accepted-first: a drain for %q, proven is %q", preflight.Checksum, m.verifiedKeys)
	}
}

// checkGate checks the invariants of a change that requires an approval.
func (m *model) checkGate(t rapid.TB, in lifecycle.Input, d lifecycle.Decision) {
	upgrade := d.Status.Upgrade
	if upgrade != nil && upgrade.ApprovedAt != nil && (in.Status.Upgrade == nil || in.Status.Upgrade.ApprovalToken != upgrade.ApprovalToken) {
		t.Fatalf("invariant approved-after-it-was-recorded: %+v", upgrade)
	}
	if d.Phase == "" || d.Condition.Reason == v1alpha1.ReasonInvalidCronSchedule {
		return
	}
	for slug, job := range in.Jobs {
		remove := lifecycle.Action{Verb: lifecycle.Delete, Task: slug, UID: job.UID}
		if job.State == lifecycle.JobActive && !job.Deleting && !slices.Contains(d.Actions, remove) {
			t.Fatalf("invariant nothing-runs-while-waiting: %s", slug)
		}
	}
}

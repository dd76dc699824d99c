package lifecycle_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/lifecycle"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/version"
)

// spec is the spec that the user of the model sets.
type spec struct {
	image               string
	settings            int // configuration, metastore and broker
	trigger             map[string]int
	pod                 int
	disabled            map[string]bool
	lifecycleOff        bool
	supervised, stopped bool
	components, page    bool
	zero                bool // the components request no pods
	foreign             []string
	cron                bool // the clone has a schedule: every hour
	cronErr             error
}

// model models a cluster: the persisted state, the existing objects, and the history.
type model struct {
	spec      spec
	status    *v1alpha1.LifecycleStatus
	lastImage string
	jobs      map[string]lifecycle.Job
	workloads bool // the Deployments exist
	size      int  // replicas of the Deployments
	webReady  bool
	pods      int
	page      lifecycle.Page
	pageUp    bool
	approval  [2]string // approve-upgrade, approve-downgrade
	now       time.Time

	serial int
	// succeeded holds, by task, the checksums that completed on the current database.
	succeeded map[string]map[string]bool
	// cloned is the checksum that the clone last completed for. A counted attempt of the clone clears it, since it
	// may have dropped the database.
	cloned string
	// verifiedKeys is the checksum of the keys that the check last completed for, or that the components ran with before
	// the first check. A started check clears it.
	verifiedKeys string
	// accepted holds the inputs and settings of all complete preflights, and those that components ran with before.
	accepted map[string]bool
	// abandoned are Jobs whose result no longer counts, since their deletion was decided.
	abandoned map[types.UID]bool
	// migrated is the newest image that migrate completed for since the components last ran; empty for none.
	migrated string
	// drainTaskStarted is true from the first Job that requires a drain until the components run again.
	drainTaskStarted bool
	// allowed holds the tokens of changes that may continue.
	allowed      map[string]bool
	lastDecision lifecycle.Decision
}

const components = 2 // pods

var retention = map[string]v1alpha1.RetentionPolicy{
	"clone": v1alpha1.RetentionRetain, "migrate": v1alpha1.RetentionDelete, "init": v1alpha1.RetentionRetainOnFailure,
}

func newModel() *model {
	return &model{
		spec: spec{
			image: "superset:1.0.0", trigger: map[string]int{}, disabled: map[string]bool{"rotate": true},
			components: true, page: true,
		},
		jobs: map[string]lifecycle.Job{}, succeeded: map[string]map[string]bool{}, accepted: map[string]bool{},
		abandoned: map[types.UID]bool{}, allowed: map[string]bool{}, now: now,
	}
}

// input returns the input that the controller passes.
func (m *model) input() lifecycle.Input {
	in := lifecycle.Input{
		Name: "x", Jobs: maps.Clone(m.jobs), Status: m.status.DeepCopy(), LastImage: m.lastImage, Image: m.spec.image,
		Components: m.spec.components, Disabled: m.spec.lifecycleOff, Stopped: m.spec.stopped, Now: m.now,
		Gate: lifecycle.Gate{Supervised: m.spec.supervised, Approval: m.approval[0], DowngradeApproval: m.approval[1]},
		Workloads: lifecycle.Workloads{
			Desired: m.desired() > 0, Exist: m.workloads, Idle: m.workloads && m.size == 0, Pods: m.pods, Foreign: m.spec.foreign,
			WebDesired: m.desired() > 0, WebExists: m.size > 0, WebReady: m.workloads && m.webReady,
		},
		Page: m.page,
	}
	in.Page.Configured = m.spec.page && m.spec.components
	scheduled := ""
	if m.spec.cron && !m.spec.disabled["clone"] {
		in.Schedule = m.schedule()
		scheduled = in.Schedule.ScheduledTime.Format(time.RFC3339)
	} else if lastTime := lifecycle.LastTime(m.status); lastTime != nil {
		scheduled = lastTime.Format(time.RFC3339)
	}
	in.Steps = m.steps(scheduled)
	return in
}

// desired returns the number of pods of the spec.
func (m *model) desired() int {
	if !m.spec.components || m.spec.stopped || m.spec.zero {
		return 0
	}
	return components
}

func (m *model) schedule() *lifecycle.Schedule {
	if m.spec.cronErr != nil {
		return &lifecycle.Schedule{Err: m.spec.cronErr}
	}
	s := &lifecycle.Schedule{ScheduledTime: m.now.Truncate(time.Hour), Next: m.now.Truncate(time.Hour).Add(time.Hour)}
	if frozen := lifecycle.FrozenTime(m.status); frozen != nil {
		s.ScheduledTime = *frozen
	}
	return s
}

// steps returns the tasks with checksums that are chained as in package desired.
func (m *model) steps(scheduled string) []lifecycle.Step {
	if m.spec.lifecycleOff {
		return nil
	}
	var completed map[string]string
	if m.status != nil {
		completed = m.status.CompletedInputs
	}
	var out []lifecycle.Step
	var chain []string
	if !m.spec.disabled["preflight"] {
		// The preflight is not part of the chain.
		keys := fmt.Sprint("keys ", m.spec.trigger["preflight"])
		settings := fmt.Sprint(keys, ", settings ", m.spec.settings)
		out = append(out, lifecycle.Step{
			Kind: resolve.Preflight, JobName: "x-preflight", Checksum: settings + ", " + m.spec.image,
			KeysChecksum: keys, SettingsChecksum: settings,
			PodHash: fmt.Sprint("pod", m.spec.pod), Image: m.spec.image, MaxRetries: 2,
		})
	}
	for _, kind := range resolve.TaskKinds() {
		if kind.Type == resolve.Preflight.Type {
			continue
		}
		if m.spec.disabled[kind.Slug] {
			if completed[kind.Type] != "" {
				chain = append(chain, completed[kind.Type])
			}
			continue
		}
		own := fmt.Sprintf("%s/%s/%d", kind.Slug, strings.TrimPrefix(m.spec.image, "superset:"), m.spec.trigger[kind.Slug])
		switch kind.Slug {
		case "clone":
			own += "/" + scheduled
		case "init":
			own += fmt.Sprint("/", m.spec.settings)
		}
		chain = append(chain, own)
		out = append(out, lifecycle.Step{
			Kind: kind, JobName: "x-" + kind.Slug, Inputs: own, Checksum: strings.Join(chain, " "),
			PodHash: fmt.Sprint("pod", m.spec.pod), Image: m.spec.image, MaxRetries: 2,
			RequiresDrain: kind.Slug != "init", Retention: retention[kind.Slug],
		})
	}
	return out
}

// reconcile decides, persists and acts, and crashes after the given number of writes.
func (m *model) reconcile(rt *rapid.T, writes int) {
	in := m.input()
	d := lifecycle.Decide(in)
	m.checkDecision(rt, in, d)
	if writes == 0 {
		return
	}
	if clones(d) {
		m.cloned = ""
	}
	for _, a := range d.Actions {
		m.abandoned[a.UID] = true
	}
	m.allow()
	m.status, m.lastImage, m.lastDecision = d.Status, d.LastImage, d
	for _, write := range m.writesOf(rt, in, d) {
		if writes--; writes == 0 {
			return
		}
		write()
	}
	m.checkNext(rt, in, d)
}

// checkNext requires a requeue while work remains that no event enqueues.
func (m *model) checkNext(rt *rapid.T, in lifecycle.Input, d lifecycle.Decision) {
	nextInput := m.input()
	before := in
	before.Status, before.LastImage = nextInput.Status, nextInput.LastImage
	if !d.Next.IsZero() || !cmp.Equal(before, nextInput, cmpopts.EquateErrors(), cmpopts.IgnoreFields(resolve.TaskKind{}, "StatusRef")) {
		return // it requeues itself, or its own write enqueues it
	}
	if second := lifecycle.Decide(nextInput); !cmp.Equal(d.Status, second.Status) || !cmp.Equal(d.Actions, second.Actions) || d.Mode != second.Mode {
		rt.Fatalf("invariant requeues-itself: %v, then %v\n%s", d.Actions, second.Actions, cmp.Diff(d.Status, second.Status))
	}
}

// clones reports whether a decision starts a clone.
func clones(d lifecycle.Decision) bool {
	return slices.ContainsFunc(d.Actions, func(a lifecycle.Action) bool { return a.Verb == lifecycle.Create && a.Task == "clone" })
}

// writesOf returns the writes that follow from a decision, in the controller's order.
func (m *model) writesOf(rt *rapid.T, in lifecycle.Input, d lifecycle.Decision) []func() {
	var out []func()
	for _, a := range d.Actions {
		out = append(out, func() { m.write(rt, in, d, a) })
	}
	if d.ClearApprovals {
		out = append(out, func() { m.approval = [2]string{} })
	}
	out = append(out, func() {
		m.pageUp = d.Page
		m.page.Ready = m.page.Ready && d.Page
	}, func() { m.page.Routed = d.Status.MaintenanceActive })
	switch {
	case d.Drain:
		out = append(out, func() {
			if m.size > 0 {
				m.workloads, m.size, m.webReady = false, 0, false
			}
		})
	case d.Mode == lifecycle.Apply:
		m.migrated, m.drainTaskStarted = "", false
		out = append(out, func() { m.workloads, m.size = m.spec.components, m.desired() })
	case d.Mode == lifecycle.Hold && !d.Initial && m.workloads:
		out = append(out, func() { m.size = m.desired() })
	case m.spec.stopped:
		out = append(out, func() { m.size = 0 })
	}
	return out
}

func (m *model) write(rt *rapid.T, in lifecycle.Input, d lifecycle.Decision, a lifecycle.Action) {
	job, exists := m.jobs[a.Task]
	if a.Verb == lifecycle.Delete {
		if exists && job.UID == a.UID {
			job.Deleting = true
			m.jobs[a.Task] = job
		}
		return
	}
	if exists {
		return // the API server rejects a second Job of the same name
	}
	step := find(in.Steps, a.Task)
	m.checkStart(rt, in, step)
	m.serial++
	m.jobs[a.Task] = lifecycle.Job{
		UID: types.UID(fmt.Sprint(m.serial)), Checksum: step.Checksum, PodHash: step.PodHash,
		Attempt: a.Attempt, Image: step.Image,
	}
	m.drainTaskStarted = m.drainTaskStarted || step.RequiresDrain
	switch a.Task {
	case "clone":
		m.succeeded = map[string]map[string]bool{}
	case "preflight":
		if m.verifiedKeys != step.KeysChecksum {
			m.verifiedKeys = ""
		}
	}
}

func find(steps []lifecycle.Step, slug string) *lifecycle.Step {
	i := slices.IndexFunc(steps, func(s lifecycle.Step) bool { return s.Kind.Slug == slug })
	return &steps[i]
}

// checkStart checks the invariants of a starting task.
func (m *model) checkStart(rt *rapid.T, in lifecycle.Input, step *lifecycle.Step) {
	for slug, job := range m.jobs {
		if job.State == lifecycle.JobActive {
			rt.Fatalf("invariant one-task-at-a-time: %s begins while %s runs", step.Kind.Slug, slug)
		}
	}
	if step.RequiresDrain && (m.size > 0 || m.pods > 0 || len(in.Workloads.Foreign) > 0) {
		rt.Fatalf("invariant drained: %s begins while %d pods exist", step.Kind.Slug, m.pods)
	}
	for i := range in.Steps {
		before := &in.Steps[i]
		if before.Kind.Type == step.Kind.Type {
			break
		}
		if before.Kind.Type == resolve.Preflight.Type {
			if m.verifiedKeys != before.KeysChecksum {
				rt.Fatalf("invariant keys-are-proven: %s begins with %q after a check of %q", step.Kind.Slug, before.KeysChecksum, m.verifiedKeys)
			}
			if !m.accepted[before.Checksum] {
				rt.Fatalf("invariant accepted-first: %s begins with %q", step.Kind.Slug, before.Checksum)
			}
			continue
		}
		if !m.succeeded[before.Kind.Slug][before.Checksum] {
			rt.Fatalf("invariant in-order: %s begins before %s completed for %q", step.Kind.Slug, before.Kind.Slug, before.Checksum)
		}
	}
	if m.spec.stopped {
		rt.Fatalf("invariant stopped: %s begins", step.Kind.Slug)
	}
	if from := m.fromImage(); from == "" || from == in.Image || m.spec.lifecycleOff {
		return
	}
	if !m.allowed[m.token()] {
		rt.Fatalf("invariant one-approval-one-change: %s begins for %+v without an approval", step.Kind.Slug, m.status.Upgrade)
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

// checkDecision checks the invariants of every decision.
func (m *model) checkDecision(rt *rapid.T, in lifecycle.Input, d lifecycle.Decision) {
	for slug, job := range in.Jobs {
		if d.Mode == lifecycle.Apply && job.State == lifecycle.JobActive {
			rt.Fatalf("invariant no-components-during-a-task: %s runs", slug)
		}
	}
	if d.Drain && in.Page.Configured && in.Workloads.WebExists && (!in.Page.Routed || !d.Status.MaintenanceActive) {
		rt.Fatalf("invariant page-before-drain: %+v", in.Page)
	}
	if d.Drain && len(m.spec.foreign) > 0 {
		rt.Fatalf("invariant no-drain-with-foreign-workloads: %+v", d.Condition)
	}
	if d.Drain && d.Mode != lifecycle.Wait {
		rt.Fatalf("invariant drain-waits: mode %s", d.Mode)
	}
	if !m.spec.lifecycleOff && d.Mode == lifecycle.Apply && older(m.migrated, in.Image) && !m.allowed[m.token()] {
		rt.Fatalf("invariant no-older-components: %s runs after the migration for %s", in.Image, m.migrated)
	}
	if d.Mode == lifecycle.Hold && !d.Initial && m.drainTaskStarted && m.size+m.pods == 0 && m.desired() > 0 && len(in.Steps) > 0 {
		rt.Fatalf("invariant no-apply-between-the-tasks: %+v", d.Condition)
	}
	if clones(d) && find(in.Steps, "clone").Checksum == m.cloned {
		rt.Fatalf("invariant clone-only-when-due: it completed for %q, and the database was not dropped since", m.cloned)
	}
	m.checkGate(rt, in, d)
	m.checkKeys(rt, in, d)
	same := cmp.Equal(in.Status, d.Status) && in.LastImage == d.LastImage
	if same && len(d.Events) > 0 {
		rt.Fatalf("invariant events-once: %v without a change of the state", d.Events)
	}
	if d.Condition.Reason == "" || d.Condition.Message == "" {
		rt.Fatalf("invariant condition-has-reason: %+v", d.Condition)
	}
	if !d.Next.IsZero() && d.Next.Before(in.Now) {
		rt.Fatalf("invariant next-is-ahead: %s at %s", d.Next, in.Now)
	}
	if d.Mode != lifecycle.Apply {
		return
	}
	nextInput := in
	nextInput.Status, nextInput.LastImage = d.Status, d.LastImage
	if second := lifecycle.Decide(nextInput); !cmp.Equal(d.Status, second.Status) || len(second.Events) > 0 {
		rt.Fatalf("invariant settled-is-a-fixpoint: events %v\n%s", second.Events, cmp.Diff(d.Status, second.Status))
	}
	for i := range in.Steps {
		s := &in.Steps[i]
		if s.Kind.Type == resolve.Preflight.Type {
			continue // see checkKeys
		}
		if !m.succeeded[s.Kind.Slug][s.Checksum] && in.Jobs[s.Kind.Slug].State != lifecycle.JobSucceeded {
			rt.Fatalf("invariant complete-means-complete: %s never completed for %q", s.Kind.Slug, s.Checksum)
		}
	}
}

// checkKeys checks that components get keys, and are drained for them, only after a check of exactly these keys, and
// likewise for the image and the other settings. Those of a first installation count as accepted, and so do those
// that components ran with when the check was enabled.
func (m *model) checkKeys(rt *rapid.T, in lifecycle.Input, d lifecycle.Decision) {
	if len(in.Steps) == 0 || in.Steps[0].Kind.Type != resolve.Preflight.Type {
		return
	}
	preflight := in.Steps[0]
	never := in.Status == nil || in.Status.Preflight == nil && in.Status.LastCompletedChecksums["Preflight"] == ""
	if in.LastImage == "" || never && d.Mode == lifecycle.Apply {
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
		rt.Fatalf("invariant keys-are-proven: mode %s with %q after a check of %q", d.Mode, preflight.KeysChecksum, m.verifiedKeys)
	}
	gated := d.Status.Phase == v1alpha1.LifecycleAwaitingApproval || d.Status.Phase == v1alpha1.LifecycleBlocked
	switch {
	case d.Mode == lifecycle.Apply && !m.accepted[preflight.Checksum]:
		rt.Fatalf("invariant accepted-first: components get %q", preflight.Checksum)
	case d.Mode == lifecycle.Hold && !gated && !m.accepted[preflight.SettingsChecksum]:
		rt.Fatalf("invariant accepted-first: components get %q, held", preflight.SettingsChecksum)
	case d.Drain && in.Status.Phase != v1alpha1.LifecycleDraining && (m.verifiedKeys != preflight.KeysChecksum || !m.accepted[preflight.Checksum]):
		rt.Fatalf("invariant accepted-first: a drain for %q, proven is %q", preflight.Checksum, m.verifiedKeys)
	}
}

func (m *model) accept(step lifecycle.Step) {
	m.accepted[step.Checksum], m.accepted[step.SettingsChecksum] = true, true
}

// checkGate checks the invariants of a change that requires an approval.
func (m *model) checkGate(rt *rapid.T, in lifecycle.Input, d lifecycle.Decision) {
	upgrade := d.Status.Upgrade
	if upgrade != nil && upgrade.ApprovedAt != nil && (in.Status.Upgrade == nil || in.Status.Upgrade.ApprovalToken != upgrade.ApprovalToken) {
		rt.Fatalf("invariant approved-after-it-was-recorded: %+v", upgrade)
	}
	if d.Phase == "" || d.Condition.Reason == v1alpha1.ReasonInvalidCronSchedule {
		return
	}
	for slug, job := range in.Jobs {
		remove := lifecycle.Action{Verb: lifecycle.Delete, Task: slug, UID: job.UID}
		if job.State == lifecycle.JobActive && !job.Deleting && !slices.Contains(d.Actions, remove) {
			rt.Fatalf("invariant nothing-runs-while-waiting: %s", slug)
		}
	}
}

// finish sets the result of the running Job of a task.
func (m *model) finish(task string, state lifecycle.JobState) {
	j, exists := m.jobs[task]
	if !exists || j.State != lifecycle.JobActive || j.Deleting {
		return
	}
	code := int32(1)
	j.State, j.FinishedAt, j.Message, j.ExitCode, j.LogTail = state, &metav1.Time{Time: m.now}, "failed", &code, "the end"
	if state == lifecycle.JobSucceeded {
		j.Message, j.ExitCode, j.LogTail = "", nil, ""
		if m.succeeded[task] == nil {
			m.succeeded[task] = map[string]bool{}
		}
		m.succeeded[task][j.Checksum] = true
		if task == "clone" && !m.abandoned[j.UID] {
			m.cloned = j.Checksum
		}
		if task == "preflight" {
			settings, _, _ := strings.Cut(j.Checksum, ", superset:")
			m.accepted[j.Checksum], m.accepted[settings] = true, true
			m.verifiedKeys, _, _ = strings.Cut(j.Checksum, ", ")
		}
		if task == "migrate" && !m.abandoned[j.UID] && !older(m.migrated, j.Image) {
			m.migrated = j.Image
		}
	}
	m.jobs[task] = j
}

// collect removes terminating objects, and creates the pods of Deployments.
func (m *model) collect() {
	for task, j := range m.jobs {
		if j.Deleting {
			delete(m.jobs, task)
		}
	}
	switch {
	case m.size > 0:
		m.pods, m.webReady = m.size, true
	case m.pods > 0:
		m.pods--
		m.webReady = false
	}
	m.page.Ready = m.pageUp
}

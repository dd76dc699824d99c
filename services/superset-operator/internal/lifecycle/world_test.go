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

// spec is the spec that the user of the world sets.
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

// world models a cluster: the persisted state, the existing objects, and the history.
type world struct {
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
	// proven is the checksum of the keys that the check last completed for, or that the components ran with before
	// the first check. A started check clears it.
	proven string
	// accepted holds the inputs and settings of all complete preflights, and those that components ran with before.
	accepted map[string]bool
	// abandoned are Jobs whose result no longer counts, since their deletion was decided.
	abandoned map[types.UID]bool
	// migrated is the newest image that migrate completed for since the components last ran; empty for none.
	migrated string
	// touched is true from the first Job that requires a drain until the components run again.
	touched bool
	// allowed holds the tokens of changes that may continue.
	allowed map[string]bool
	last    lifecycle.Decision
}

const components = 2 // pods

var retention = map[string]v1alpha1.RetentionPolicy{
	"clone": v1alpha1.RetentionRetain, "migrate": v1alpha1.RetentionDelete, "init": v1alpha1.RetentionRetainOnFailure,
}

func newWorld() *world {
	return &world{
		spec: spec{
			image: "superset:1.0.0", trigger: map[string]int{}, disabled: map[string]bool{"rotate": true},
			components: true, page: true,
		},
		jobs: map[string]lifecycle.Job{}, succeeded: map[string]map[string]bool{}, accepted: map[string]bool{},
		abandoned: map[types.UID]bool{}, allowed: map[string]bool{}, now: now,
	}
}

// input returns the input that the controller passes.
func (w *world) input() lifecycle.Input {
	in := lifecycle.Input{
		Name: "x", Jobs: maps.Clone(w.jobs), Status: w.status.DeepCopy(), LastImage: w.lastImage, Image: w.spec.image,
		Components: w.spec.components, Disabled: w.spec.lifecycleOff, Stopped: w.spec.stopped, Now: w.now,
		Gate: lifecycle.Gate{Supervised: w.spec.supervised, Approval: w.approval[0], DowngradeApproval: w.approval[1]},
		Workloads: lifecycle.Workloads{
			Desired: w.desired() > 0, Exist: w.workloads, Idle: w.workloads && w.size == 0, Pods: w.pods, Foreign: w.spec.foreign,
			WebDesired: w.desired() > 0, WebExists: w.size > 0, WebReady: w.workloads && w.webReady,
		},
		Page: w.page,
	}
	in.Page.Configured = w.spec.page && w.spec.components
	scheduled := ""
	if w.spec.cron && !w.spec.disabled["clone"] {
		in.Schedule = w.schedule()
		scheduled = in.Schedule.ScheduledTime.Format(time.RFC3339)
	} else if kept := lifecycle.LastTime(w.status); kept != nil {
		scheduled = kept.Format(time.RFC3339)
	}
	in.Steps = w.steps(scheduled)
	return in
}

// desired returns the number of pods of the spec.
func (w *world) desired() int {
	if !w.spec.components || w.spec.stopped || w.spec.zero {
		return 0
	}
	return components
}

func (w *world) schedule() *lifecycle.Schedule {
	if w.spec.cronErr != nil {
		return &lifecycle.Schedule{Err: w.spec.cronErr}
	}
	s := &lifecycle.Schedule{ScheduledTime: w.now.Truncate(time.Hour), Next: w.now.Truncate(time.Hour).Add(time.Hour)}
	if frozen := lifecycle.FrozenTime(w.status); frozen != nil {
		s.ScheduledTime = *frozen
	}
	return s
}

// steps returns the tasks with checksums that are chained as in package desired.
func (w *world) steps(scheduled string) []lifecycle.Step {
	if w.spec.lifecycleOff {
		return nil
	}
	var kept map[string]string
	if w.status != nil {
		kept = w.status.CompletedInputs
	}
	var out []lifecycle.Step
	var chain []string
	if !w.spec.disabled["preflight"] {
		// The preflight is not part of the chain.
		keys := fmt.Sprint("keys ", w.spec.trigger["preflight"])
		settings := fmt.Sprint(keys, ", settings ", w.spec.settings)
		out = append(out, lifecycle.Step{
			Kind: resolve.Preflight, JobName: "x-preflight", Checksum: settings + ", " + w.spec.image,
			KeysChecksum: keys, SettingsChecksum: settings,
			PodHash: fmt.Sprint("pod", w.spec.pod), Image: w.spec.image, MaxRetries: 2,
		})
	}
	for _, kind := range resolve.TaskKinds() {
		if kind.Type == resolve.Preflight.Type {
			continue
		}
		if w.spec.disabled[kind.Slug] {
			if kept[kind.Type] != "" {
				chain = append(chain, kept[kind.Type])
			}
			continue
		}
		own := fmt.Sprintf("%s/%s/%d", kind.Slug, strings.TrimPrefix(w.spec.image, "superset:"), w.spec.trigger[kind.Slug])
		switch kind.Slug {
		case "clone":
			own += "/" + scheduled
		case "init":
			own += fmt.Sprint("/", w.spec.settings)
		}
		chain = append(chain, own)
		out = append(out, lifecycle.Step{
			Kind: kind, JobName: "x-" + kind.Slug, Inputs: own, Checksum: strings.Join(chain, " "),
			PodHash: fmt.Sprint("pod", w.spec.pod), Image: w.spec.image, MaxRetries: 2,
			RequiresDrain: kind.Slug != "init", Retention: retention[kind.Slug],
		})
	}
	return out
}

// reconcile decides, persists and acts, and crashes after the given number of writes.
func (w *world) reconcile(rt *rapid.T, writes int) {
	in := w.input()
	d := lifecycle.Decide(in)
	w.checkDecision(rt, in, d)
	if writes == 0 {
		return
	}
	if clones(d) {
		w.cloned = ""
	}
	for _, a := range d.Actions {
		w.abandoned[a.UID] = true
	}
	w.allow()
	w.status, w.lastImage, w.last = d.Status, d.LastImage, d
	for _, act := range w.acts(rt, in, d) {
		if writes--; writes == 0 {
			return
		}
		act()
	}
	w.checkNext(rt, in, d)
}

// checkNext requires a requeue while work remains that no event enqueues.
func (w *world) checkNext(rt *rapid.T, in lifecycle.Input, d lifecycle.Decision) {
	again := w.input()
	before := in
	before.Status, before.LastImage = again.Status, again.LastImage
	if !d.Next.IsZero() || !cmp.Equal(before, again, cmpopts.EquateErrors(), cmpopts.IgnoreFields(resolve.TaskKind{}, "StatusRef")) {
		return // it requeues itself, or its own write enqueues it
	}
	if second := lifecycle.Decide(again); !cmp.Equal(d.Status, second.Status) || !cmp.Equal(d.Actions, second.Actions) || d.Mode != second.Mode {
		rt.Fatalf("invariant requeues-itself: %v, then %v\n%s", d.Actions, second.Actions, cmp.Diff(d.Status, second.Status))
	}
}

// clones reports whether a decision starts a clone.
func clones(d lifecycle.Decision) bool {
	return slices.ContainsFunc(d.Actions, func(a lifecycle.Action) bool { return a.Verb == lifecycle.Create && a.Task == "clone" })
}

// acts returns the writes that follow from a decision, in the controller's order.
func (w *world) acts(rt *rapid.T, in lifecycle.Input, d lifecycle.Decision) []func() {
	var out []func()
	for _, a := range d.Actions {
		out = append(out, func() { w.act(rt, in, d, a) })
	}
	if d.ClearApprovals {
		out = append(out, func() { w.approval = [2]string{} })
	}
	out = append(out, func() {
		w.pageUp = d.Page
		w.page.Ready = w.page.Ready && d.Page
	}, func() { w.page.Routed = d.Status.MaintenanceActive })
	switch {
	case d.Drain:
		out = append(out, func() {
			if w.size > 0 {
				w.workloads, w.size, w.webReady = false, 0, false
			}
		})
	case d.Mode == lifecycle.Apply:
		w.migrated, w.touched = "", false
		out = append(out, func() { w.workloads, w.size = w.spec.components, w.desired() })
	case d.Mode == lifecycle.Hold && !d.Initial && w.workloads:
		out = append(out, func() { w.size = w.desired() })
	case w.spec.stopped:
		out = append(out, func() { w.size = 0 })
	}
	return out
}

func (w *world) act(rt *rapid.T, in lifecycle.Input, d lifecycle.Decision, a lifecycle.Action) {
	job, exists := w.jobs[a.Task]
	if a.Verb == lifecycle.Delete {
		if exists && job.UID == a.UID {
			job.Deleting = true
			w.jobs[a.Task] = job
		}
		return
	}
	if exists {
		return // the API server rejects a second Job of the same name
	}
	step := find(in.Steps, a.Task)
	w.checkBegin(rt, in, step)
	w.serial++
	w.jobs[a.Task] = lifecycle.Job{
		UID: types.UID(fmt.Sprint(w.serial)), Checksum: step.Checksum, PodHash: step.PodHash,
		Attempt: a.Attempt, Image: step.Image,
	}
	w.touched = w.touched || step.RequiresDrain
	switch a.Task {
	case "clone":
		w.succeeded = map[string]map[string]bool{}
	case "preflight":
		if w.proven != step.KeysChecksum {
			w.proven = ""
		}
	}
}

func find(steps []lifecycle.Step, slug string) *lifecycle.Step {
	i := slices.IndexFunc(steps, func(s lifecycle.Step) bool { return s.Kind.Slug == slug })
	return &steps[i]
}

// checkBegin checks the invariants of a starting task.
func (w *world) checkBegin(rt *rapid.T, in lifecycle.Input, step *lifecycle.Step) {
	for slug, job := range w.jobs {
		if job.State == lifecycle.JobActive {
			rt.Fatalf("invariant one-task-at-a-time: %s begins while %s runs", step.Kind.Slug, slug)
		}
	}
	if step.RequiresDrain && (w.size > 0 || w.pods > 0 || len(in.Workloads.Foreign) > 0) {
		rt.Fatalf("invariant drained: %s begins while %d pods exist", step.Kind.Slug, w.pods)
	}
	for i := range in.Steps {
		before := &in.Steps[i]
		if before.Kind.Type == step.Kind.Type {
			break
		}
		if before.Kind.Type == resolve.Preflight.Type {
			if w.proven != before.KeysChecksum {
				rt.Fatalf("invariant keys-are-proven: %s begins with %q after a check of %q", step.Kind.Slug, before.KeysChecksum, w.proven)
			}
			if !w.accepted[before.Checksum] {
				rt.Fatalf("invariant accepted-first: %s begins with %q", step.Kind.Slug, before.Checksum)
			}
			continue
		}
		if !w.succeeded[before.Kind.Slug][before.Checksum] {
			rt.Fatalf("invariant in-order: %s begins before %s completed for %q", step.Kind.Slug, before.Kind.Slug, before.Checksum)
		}
	}
	if w.spec.stopped {
		rt.Fatalf("invariant stopped: %s begins", step.Kind.Slug)
	}
	if from := w.from(); from == "" || from == in.Image || w.spec.lifecycleOff {
		return
	}
	if !w.allowed[w.token()] {
		rt.Fatalf("invariant one-approval-one-change: %s begins for %+v without an approval", step.Kind.Slug, w.status.Upgrade)
	}
}

// allow records the change that may continue: it was approved, or started when no approval was required. Without a
// pending change it resets the record, so the next change requires an approval.
func (w *world) allow() {
	if w.from() == "" || w.from() == w.spec.image {
		w.allowed = map[string]bool{}
		return
	}
	token := w.token()
	older := version.Compare(w.from(), w.spec.image) == v1alpha1.DirectionDowngrade
	approved := !older && w.approval[0] == token || older && w.approval[1] == token
	if approved || !older && !w.spec.supervised {
		w.allowed[token] = true
	}
}

// checkDecision checks the invariants of every decision.
func (w *world) checkDecision(rt *rapid.T, in lifecycle.Input, d lifecycle.Decision) {
	for slug, job := range in.Jobs {
		if d.Mode == lifecycle.Apply && job.State == lifecycle.JobActive {
			rt.Fatalf("invariant no-components-during-a-task: %s runs", slug)
		}
	}
	if d.Drain && in.Page.Configured && in.Workloads.WebExists && (!in.Page.Routed || !d.Status.MaintenanceActive) {
		rt.Fatalf("invariant page-before-drain: %+v", in.Page)
	}
	if d.Drain && len(w.spec.foreign) > 0 {
		rt.Fatalf("invariant no-drain-with-foreign-workloads: %+v", d.Condition)
	}
	if d.Drain && d.Mode != lifecycle.Wait {
		rt.Fatalf("invariant drain-waits: mode %s", d.Mode)
	}
	if !w.spec.lifecycleOff && d.Mode == lifecycle.Apply && older(w.migrated, in.Image) && !w.allowed[w.token()] {
		rt.Fatalf("invariant no-older-components: %s runs after the migration for %s", in.Image, w.migrated)
	}
	if d.Mode == lifecycle.Hold && !d.Initial && w.touched && w.size+w.pods == 0 && w.desired() > 0 && len(in.Steps) > 0 {
		rt.Fatalf("invariant no-apply-between-the-tasks: %+v", d.Condition)
	}
	if clones(d) && find(in.Steps, "clone").Checksum == w.cloned {
		rt.Fatalf("invariant clone-only-when-due: it completed for %q, and the database was not dropped since", w.cloned)
	}
	w.checkGate(rt, in, d)
	w.checkKeys(rt, in, d)
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
	again := in
	again.Status, again.LastImage = d.Status, d.LastImage
	if second := lifecycle.Decide(again); !cmp.Equal(d.Status, second.Status) || len(second.Events) > 0 {
		rt.Fatalf("invariant settled-is-a-fixpoint: events %v\n%s", second.Events, cmp.Diff(d.Status, second.Status))
	}
	for i := range in.Steps {
		s := &in.Steps[i]
		if s.Kind.Type == resolve.Preflight.Type {
			continue // see checkKeys
		}
		if !w.succeeded[s.Kind.Slug][s.Checksum] && in.Jobs[s.Kind.Slug].State != lifecycle.JobSucceeded {
			rt.Fatalf("invariant complete-means-complete: %s never completed for %q", s.Kind.Slug, s.Checksum)
		}
	}
}

// checkKeys checks that components get keys, and are drained for them, only after a check of exactly these keys, and
// likewise for the image and the other settings. Those of a first installation count as accepted, and so do those
// that components ran with when the check was enabled.
func (w *world) checkKeys(rt *rapid.T, in lifecycle.Input, d lifecycle.Decision) {
	if len(in.Steps) == 0 || in.Steps[0].Kind.Type != resolve.Preflight.Type {
		return
	}
	wanted := in.Steps[0]
	never := in.Status == nil || in.Status.Preflight == nil && in.Status.LastCompletedChecksums["Preflight"] == ""
	if in.LastImage == "" || never && d.Mode == lifecycle.Apply {
		w.proven = wanted.KeysChecksum
		w.accept(wanted)
	}
	if never {
		return
	}
	if job := in.Jobs["preflight"]; job.State == lifecycle.JobSucceeded && job.Checksum == wanted.Checksum {
		return
	}
	if w.proven != wanted.KeysChecksum && d.Mode != lifecycle.Wait {
		rt.Fatalf("invariant keys-are-proven: mode %s with %q after a check of %q", d.Mode, wanted.KeysChecksum, w.proven)
	}
	gated := d.Status.Phase == v1alpha1.LifecycleAwaitingApproval || d.Status.Phase == v1alpha1.LifecycleBlocked
	switch {
	case d.Mode == lifecycle.Apply && !w.accepted[wanted.Checksum]:
		rt.Fatalf("invariant accepted-first: components get %q", wanted.Checksum)
	case d.Mode == lifecycle.Hold && !gated && !w.accepted[wanted.SettingsChecksum]:
		rt.Fatalf("invariant accepted-first: components get %q, held", wanted.SettingsChecksum)
	case d.Drain && in.Status.Phase != v1alpha1.LifecycleDraining && (w.proven != wanted.KeysChecksum || !w.accepted[wanted.Checksum]):
		rt.Fatalf("invariant accepted-first: a drain for %q, proven is %q", wanted.Checksum, w.proven)
	}
}

func (w *world) accept(step lifecycle.Step) {
	w.accepted[step.Checksum], w.accepted[step.SettingsChecksum] = true, true
}

// checkGate checks the invariants of a change that requires an approval.
func (w *world) checkGate(rt *rapid.T, in lifecycle.Input, d lifecycle.Decision) {
	up := d.Status.Upgrade
	if up != nil && up.ApprovedAt != nil && (in.Status.Upgrade == nil || in.Status.Upgrade.ApprovalToken != up.ApprovalToken) {
		rt.Fatalf("invariant approved-after-it-was-recorded: %+v", up)
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
func (w *world) finish(task string, state lifecycle.JobState) {
	j, exists := w.jobs[task]
	if !exists || j.State != lifecycle.JobActive || j.Deleting {
		return
	}
	code := int32(1)
	j.State, j.FinishedAt, j.Message, j.ExitCode, j.LogTail = state, &metav1.Time{Time: w.now}, "failed", &code, "the end"
	if state == lifecycle.JobSucceeded {
		j.Message, j.ExitCode, j.LogTail = "", nil, ""
		if w.succeeded[task] == nil {
			w.succeeded[task] = map[string]bool{}
		}
		w.succeeded[task][j.Checksum] = true
		if task == "clone" && !w.abandoned[j.UID] {
			w.cloned = j.Checksum
		}
		if task == "preflight" {
			settings, _, _ := strings.Cut(j.Checksum, ", superset:")
			w.accepted[j.Checksum], w.accepted[settings] = true, true
			w.proven, _, _ = strings.Cut(j.Checksum, ", ")
		}
		if task == "migrate" && !w.abandoned[j.UID] && !older(w.migrated, j.Image) {
			w.migrated = j.Image
		}
	}
	w.jobs[task] = j
}

// collect removes terminating objects, and creates the pods of Deployments.
func (w *world) collect() {
	for task, j := range w.jobs {
		if j.Deleting {
			delete(w.jobs, task)
		}
	}
	switch {
	case w.size > 0:
		w.pods, w.webReady = w.size, true
	case w.pods > 0:
		w.pods--
		w.webReady = false
	}
	w.page.Ready = w.pageUp
}

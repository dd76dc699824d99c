package lifecycle

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
)

// Decide decides the next action of each task.
func Decide(in Input) Decision {
	p := begin(in)
	p.adopt()
	p.compare()
	if p.readable() && p.open() {
		p.run()
	}
	p.finish()
	return p.out
}

// pass is the state of one call of [Decide].
type pass struct {
	in Input
	// was is the persisted state, never nil and never changed; status is the new one.
	was, status *v1alpha1.LifecycleStatus
	out         Decision
}

func begin(in Input) *pass {
	if in.Disabled {
		in.Steps = nil
	}
	p := &pass{in: in, was: in.Status, status: in.Status.DeepCopy()}
	if p.was == nil {
		p.was, p.status = &v1alpha1.LifecycleStatus{}, &v1alpha1.LifecycleStatus{}
	}
	p.out = Decision{
		Status: p.status, Mode: Wait, LastImage: in.LastImage, Initial: in.LastImage == "",
	}
	return p
}

// run advances the tasks, one after the other.
func (p *pass) run() {
	p.prune()
	current := p.prepare()
	if !p.alone(current) {
		return
	}
	for ; current < len(p.in.Steps); current++ {
		step := &p.in.Steps[current]
		if p.slot(step).State != v1alpha1.TaskComplete && !p.advance(step) {
			p.queue(current)
			return
		}
		if p.unchecked() {
			current = -1
		}
	}
	p.settle()
}

// queue marks the incomplete tasks after the current one as waiting.
func (p *pass) queue(current int) {
	for i := current + 1; i < len(p.in.Steps); i++ {
		if step := &p.in.Steps[i]; p.slot(step).State != v1alpha1.TaskComplete {
			p.mark(step, metav1.ConditionFalse, v1alpha1.ReasonTaskWaiting, "Waiting for task "+p.in.Steps[current].Kind.Word)
		}
	}
}

// alone deletes all active Jobs except that of the current task, and reports whether they are gone: two tasks must
// not overlap, nor a task and components that start.
func (p *pass) alone(current int) bool {
	var next *Step
	if current < len(p.in.Steps) {
		next = &p.in.Steps[current]
	}
	word := p.clear(next)
	if word == "" {
		return true
	}
	message := "Waiting for the Job of task " + word + " to be gone"
	if next == nil {
		p.status.Phase = v1alpha1.LifecycleRestoring
		p.waiting(v1alpha1.ReasonTaskWaiting, message)
		return false
	}
	p.phase(next.Kind.Phase)
	p.at(next, v1alpha1.ReasonTaskWaiting, message)
	p.queue(current)
	return false
}

// clear deletes all active Jobs except that of one task, and returns the name of a task whose Job still exists; empty
// if all are gone.
func (p *pass) clear(but *Step) (word string) {
	for _, kind := range resolve.TaskKinds() {
		job, exists := p.in.Jobs[kind.Word]
		if !exists || job.State != JobActive || but != nil && but.Kind.Type == kind.Type {
			continue
		}
		p.remove(kind.Word, job)
		word = kind.Word
	}
	return word
}

// finish adds what follows from every decision.
func (p *pass) finish() {
	p.endMaintenance()
	p.out.Page = p.out.Page || p.status.MaintenanceActive
	p.out.Drained = p.out.Mode != Apply && (p.away() || p.out.Drain && p.in.Components)
	change := p.out.Upgrading && p.out.Mode != Apply
	p.out.ClearApprovals = !change && p.in.Gate.Approval+p.in.Gate.DowngradeApproval != ""
	p.announce()
	p.wake()
}

// announce adds the event that the tasks started, before all events that follow from it, or that they are complete.
func (p *pass) announce() {
	over := p.status.Phase == v1alpha1.LifecycleComplete || p.status.Phase == v1alpha1.LifecycleRestoring
	if over && running(p.was.Phase) {
		p.normal(EventLifecycleComplete, "Lifecycle tasks are complete for image %s", p.in.Image)
	}
	same := running(p.was.Phase) && approval(p.was.Upgrade) == approval(p.status.Upgrade)
	if !running(p.status.Phase) || same {
		return
	}
	events := p.out.Events
	p.out.Events = nil
	if p.out.Upgrading {
		p.normal(EventUpgradeStarted, "The image changes from %s to %s", p.out.From, p.in.Image)
	} else {
		p.normal(EventLifecycleStarted, "Lifecycle tasks begin for image %s", p.in.Image)
	}
	p.out.Events = append(p.out.Events, events...)
}

// running reports whether the tasks, or the drain before them, have started in this phase.
func running(phase v1alpha1.LifecyclePhase) bool {
	switch phase {
	case v1alpha1.LifecycleChecking, v1alpha1.LifecycleCloning, v1alpha1.LifecycleDraining, v1alpha1.LifecycleMigrating,
		v1alpha1.LifecycleRotating, v1alpha1.LifecycleInitializing:
		return true
	default:
		return false
	}
}

// phase sets the lifecycle phase of a task. While the Superset is stopped no task starts, so the phase must not show
// that one has started.
func (p *pass) phase(phase v1alpha1.LifecyclePhase) {
	gated := p.was.Phase == v1alpha1.LifecycleAwaitingApproval || p.was.Phase == v1alpha1.LifecycleBlocked
	if !p.in.Stopped || running(p.was.Phase) || gated {
		p.status.Phase = phase
	}
}

// hold allows changes to running components, on their current image, if nothing forbids it. Everything else follows
// the spec, so the components are not changed at all while the keys are not verified.
func (p *pass) hold() {
	if !p.proven() {
		return
	}
	for _, job := range p.in.Jobs {
		if job.State == JobActive {
			return
		}
	}
	if !p.away() {
		p.out.Mode = Hold
	}
}

// away reports whether the components were removed. Idle Deployments count as removed while the metastore differs
// from the one that the components last ran with.
func (p *pass) away() bool {
	return p.in.Components && !p.out.Initial && p.in.Workloads.absent() && (!p.in.Workloads.Exist || p.undone())
}

// undone reports whether a task that requires a drain has started and not all tasks are complete, whatever the spec
// requires by now.
func (p *pass) undone() bool {
	for i := range p.in.Steps {
		step := &p.in.Steps[i]
		if !step.RequiresDrain {
			continue
		}
		last := p.status.LastCompletedChecksums[step.Kind.Type]
		if slot := p.slot(step); slot == nil || last == "" || slot.CompletedChecksum != last {
			return true
		}
	}
	return false
}

// next requeues the Superset at the given time, or at an earlier one; immediately if it has passed.
func (p *pass) next(at time.Time) {
	if at.Before(p.in.Now) {
		at = p.in.Now
	}
	if p.out.Next.IsZero() || at.Before(p.out.Next) {
		p.out.Next = at
	}
}

// now returns the current time with the precision of the status.
func (p *pass) now() *metav1.Time { return &metav1.Time{Time: p.in.Now.Truncate(time.Second)} }

// remove deletes a Job unless it is terminating.
func (p *pass) remove(task string, job Job) {
	if !job.Deleting {
		p.out.Actions = append(p.out.Actions, Action{Verb: Delete, Task: task, UID: job.UID})
	}
}

func (p *pass) condition(status metav1.ConditionStatus, reason, message string) {
	p.out.Condition = metav1.Condition{
		Type: v1alpha1.ConditionLifecycleComplete, Status: status, Reason: reason, Message: message,
	}
}

func (p *pass) waiting(reason, message string) { p.condition(metav1.ConditionFalse, reason, message) }

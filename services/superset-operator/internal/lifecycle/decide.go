package lifecycle

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
)

// Decide says what becomes of the tasks.
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

// pass is one call of [Decide].
type pass struct {
	in Input
	// was is the state that was persisted, never nil and never changed; status is
	// the one to come.
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

// run brings the tasks forward, one after the other.
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

// queue says of the tasks behind one that it is their turn later.
func (p *pass) queue(current int) {
	for i := current + 1; i < len(p.in.Steps); i++ {
		if step := &p.in.Steps[i]; p.slot(step).State != v1alpha1.TaskComplete {
			p.mark(step, metav1.ConditionFalse, v1alpha1.ReasonTaskWaiting, "Waiting for task "+p.in.Steps[current].Kind.Word)
		}
	}
}

// alone removes all Jobs that run, but for the one whose turn it is. It reports
// whether they are gone: two tasks must not meet, nor a task and components that start.
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

// clear removes all Jobs that run, but for one task's, and returns the task of one
// that is still there; empty when they are gone.
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

// finish adds what follows from the decision, whatever it was.
func (p *pass) finish() {
	p.endMaintenance()
	p.out.Page = p.out.Page || p.status.MaintenanceActive
	p.out.Drained = p.out.Mode != Apply && (p.away() || p.out.Drain && p.in.Components)
	change := p.out.Upgrading && p.out.Mode != Apply
	p.out.ClearApprovals = !change && p.in.Gate.Approval+p.in.Gate.DowngradeApproval != ""
	p.announce()
	p.wake()
}

// announce says that the tasks begin, before everything that follows from it, or that they are over.
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

// running is true for the phases in which tasks have begun, or the drain before them.
func running(phase v1alpha1.LifecyclePhase) bool {
	switch phase {
	case v1alpha1.LifecycleChecking, v1alpha1.LifecycleCloning, v1alpha1.LifecycleDraining, v1alpha1.LifecycleMigrating,
		v1alpha1.LifecycleRotating, v1alpha1.LifecycleInitializing:
		return true
	default:
		return false
	}
}

// phase sets the phase of a task. While the Superset is stopped nothing begins, so
// nothing that has not begun may look as if it had.
func (p *pass) phase(phase v1alpha1.LifecyclePhase) {
	gated := p.was.Phase == v1alpha1.LifecycleAwaitingApproval || p.was.Phase == v1alpha1.LifecycleBlocked
	if !p.in.Stopped || running(p.was.Phase) || gated {
		p.status.Phase = phase
	}
}

// hold keeps what runs on its image, unless nothing may run now. Everything else about
// it would follow the spec, so keys that are not proven keep it from being touched at all.
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

// away is true when the components are not there although they were before. Deployments without pods count as such while
// the metastore is not what the components last ran with.
func (p *pass) away() bool {
	return p.in.Components && !p.out.Initial && p.in.Workloads.absent() && (!p.in.Workloads.Exist || p.undone())
}

// undone is true from the first attempt of a task that wants to be alone until all tasks are complete, whatever the spec
// asks for since.
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

// next asks for another decision at a time, or earlier; at once if that has passed.
func (p *pass) next(at time.Time) {
	if at.Before(p.in.Now) {
		at = p.in.Now
	}
	if p.out.Next.IsZero() || at.Before(p.out.Next) {
		p.out.Next = at
	}
}

// now is the time as it is stored.
func (p *pass) now() *metav1.Time { return &metav1.Time{Time: p.in.Now.Truncate(time.Second)} }

// remove deletes a Job unless it is on its way out already.
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

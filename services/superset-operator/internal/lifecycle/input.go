package lifecycle

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
)

// Input is all that [Decide] reads.
type Input struct {
	// Name is the Superset's, for messages that say what to type.
	Name string
	// Steps are the enabled tasks in order.
	Steps []Step
	// Jobs are the task Jobs that exist, by the task's word, for example "migrate".
	Jobs map[string]Job
	// Status is the state that was persisted; nil before the first time.
	Status *v1alpha1.LifecycleStatus
	// LastImage is the image for which the tasks last completed; empty before the first time.
	LastImage string
	// Image is the image that the tasks should have run with.
	Image string
	// Components is true when there is a component to restore after the tasks.
	Components bool
	// Disabled turns all tasks off.
	Disabled bool
	// Stopped lets a running task finish and starts none.
	Stopped bool
	// Gate is what an image change has to pass.
	Gate Gate
	// Schedule is the clone's; nil without one.
	Schedule *Schedule
	// Workloads are the components' workloads as they are.
	Workloads Workloads
	// Page is the maintenance page.
	Page Page
	Now  time.Time
}

// Gate is what an image change has to pass.
type Gate struct {
	// Supervised changes need an approval.
	Supervised bool
	// Approval and DowngradeApproval are the tokens that the user set; empty for none.
	Approval, DowngradeApproval string
}

// Schedule is the clone's cron schedule.
type Schedule struct {
	// Err says why the expression names no time.
	Err error
	// Tick is the latest time of the schedule that is due; it is part of the clone's
	// checksum. Next is the one after now.
	Tick, Next time.Time
}

// Workloads are those of all components, of ones that the spec does not ask for too.
type Workloads struct {
	// Wanted is true when the spec asks for at least one pod.
	Wanted bool
	// Exist is true while there is a Deployment, autoscaler, disruption budget, or a
	// Service but the web server's, of any component.
	Exist bool
	// Idle is true when there are Deployments and none of them has or asks for a pod. They stay: nothing starts in them.
	Idle bool
	// Pods counts the components' pods, terminating ones too.
	Pods int
	// Strangers are Deployments and pods of others with the labels of the components, each as kind and name.
	Strangers []string
	// WebWanted is true when the spec asks for at least one pod of the web server.
	WebWanted bool
	// WebExists is true when there is a web server to take traffic from: a Deployment
	// that is not being deleted and asks for pods, or a pod.
	WebExists bool
	// WebReady is true when the web server's Deployment, as it was last applied, has a ready pod.
	WebReady bool
}

// absent is true when no pod of a component runs, nor is about to.
func (w Workloads) absent() bool { return w.Pods == 0 && (!w.Exist || w.Idle) }

// Page is the maintenance page.
type Page struct {
	// Configured is true when the spec asks for one and has a web server.
	Configured bool
	// Ready is true when a pod of the page is ready.
	Ready bool
	// Routed is true when the web server's Service leads to the page.
	Routed bool
	// Problem says why the page's pods do not start; empty when nothing is known.
	Problem string
}

// Step is one task that should have run.
type Step struct {
	Kind    resolve.TaskKind
	JobName string
	// Checksum covers everything that makes the task run again; Inputs only what is
	// its own, without the tasks before it.
	Checksum, Inputs string
	// PodHash is the fingerprint of the pod that the task would run in now.
	PodHash string
	Image   string
	// MaxRetries is the total number of attempts.
	MaxRetries int32
	// RequiresDrain removes the components before the task.
	RequiresDrain bool
	Retention     v1alpha1.RetentionPolicy
}

// JobState is what became of a Job.
type JobState int

// Job states.
const (
	JobActive JobState = iota
	JobSucceeded
	JobFailed
)

// Job is one task Job that exists.
type Job struct {
	UID types.UID
	// Checksum, PodHash and Attempt are what the Job was made for. Attempt is 0 on
	// a Job that an earlier operator made.
	Checksum, PodHash string
	Attempt           int32
	// Image is the main container's.
	Image string
	State JobState
	// Deleting is true from the deletion until the last pod is gone.
	Deleting bool
	// FinishedAt is set for a finished Job.
	FinishedAt *metav1.Time
	// Message says why a Job failed.
	Message string
	// ExitCode and LogTail are those of the failed pod, if it is still known.
	ExitCode *int32
	LogTail  string
	// StoredSecrets is what a Job that succeeded counted, nil when it counts nothing. Unread is true while its pod, which
	// has it, is still seen at work.
	StoredSecrets *v1alpha1.StoredSecretsStatus
	Unread        bool
	// Stuck says why the Job's pod cannot start; empty when nothing is known.
	Stuck string
}

// Verb is what to do with a Job.
type Verb string

// Verbs.
const (
	Create Verb = "create"
	Delete Verb = "delete"
)

// Action is one change to a Job, to be made after the state is persisted.
type Action struct {
	Verb Verb
	// Task is the task's word.
	Task string
	// Attempt is the number of the attempt to create.
	Attempt int32
	// UID is the Job to delete; another one of the same name stays.
	UID types.UID
}

// Event is something that happened and that people should hear of once.
type Event struct {
	Warning         bool
	Reason, Message string
}

// Mode is what may be done to the components.
type Mode string

// Modes.
const (
	// Apply brings all components to what the spec asks for.
	Apply Mode = "apply"
	// Hold keeps the components that run on the image that they run with, and brings
	// everything else about them to what the spec asks for. It adds none.
	Hold Mode = "hold"
	// Wait leaves the components alone: a task runs, or they are drained.
	Wait Mode = "wait"
)

// Decision is the answer of [Decide].
type Decision struct {
	// Status is the state to persist; nil for none.
	Status    *v1alpha1.LifecycleStatus
	LastImage string
	// Mode is what may be done to the components.
	Mode Mode
	// Initial is true until the tasks have completed for the first time, Upgrading
	// while they run for another image than the last time.
	Initial, Upgrading bool
	// From is the image that a change comes from: LastImage, or a newer one that the metastore was migrated for since.
	// Empty before the first time.
	From string
	// Phase is AwaitingApproval or Blocked while the tasks may not begin, else empty.
	Phase v1alpha1.Phase
	// Condition is LifecycleComplete without its times; Schedule is ScheduleValid, nil without a schedule.
	Condition metav1.Condition
	Schedule  *metav1.Condition
	Actions   []Action
	// Drain removes the workloads of all components. It is set only when the web
	// server's Service leads to the maintenance page, if there is to be one.
	Drain bool
	// Drained is true while the components are kept away by a drain.
	Drained bool
	// Page is true while the maintenance page has to run. The Service leads to it
	// while Status.MaintenanceActive.
	Page bool
	// ClearApprovals removes the approval annotations: what they approved is settled.
	ClearApprovals bool
	Events         []Event
	// Next is when to decide again although nothing happens; zero for never.
	Next time.Time
}

// Done is true when components may be reconciled to what the spec asks for.
func (d *Decision) Done() bool { return d.Mode == Apply }

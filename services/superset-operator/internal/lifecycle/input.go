package lifecycle

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/statusevents"
)

// Input is the input of [Decide].
type Input struct {
	// Name is the name of the Superset, for commands in messages.
	Name string
	// Steps are the enabled tasks in order.
	Steps []Step
	// Jobs are the existing Jobs of tasks, by task name, for example "migrate".
	Jobs map[string]Job
	// FormerPods are the names of the pods of tasks that may run although their Job no longer exists.
	FormerPods []string
	// Status is the persisted state; nil if there is none.
	Status *v1alpha1.LifecycleStatus
	// LastImage is the image for which the tasks last completed; empty if they never did.
	LastImage string
	// Image is the desired image of the tasks.
	Image string
	// Components reports whether there is a component to restore after the tasks.
	Components bool
	// Disabled disables all tasks.
	Disabled bool
	// Stopped lets a running task finish and starts none.
	Stopped bool
	// Gate holds the approvals of an image change.
	Gate Gate
	// Schedule is the schedule of the clone; nil if it has none.
	Schedule *Schedule
	// Workloads are the observed workloads of the components.
	Workloads Workloads
	// Page is the state of the maintenance page.
	Page Page
	Now  time.Time
}

// Gate holds the approvals of an image change.
type Gate struct {
	// Supervised reports whether changes need an approval.
	Supervised bool
	// Approval and DowngradeApproval are the tokens that the user set; empty for none.
	Approval, DowngradeApproval string
}

// Schedule is the clone's cron schedule.
type Schedule struct {
	// Err is the error of an invalid expression.
	Err error
	// ScheduledTime is the latest scheduled time that is due; it is part of the clone's checksum. Next is the first one
	// after now.
	ScheduledTime, Next time.Time
}

// Workloads are the observed workloads of all components, enabled or not.
type Workloads struct {
	// Desired reports whether the spec has at least one pod.
	Desired bool
	// Exist reports whether any component has a Deployment, or, not terminating, an autoscaler, a disruption budget or a
	// Service other than that of the web server.
	Exist bool
	// Idle reports whether there are Deployments, all scaled to zero and without pods. They stay: nothing starts in
	// them.
	Idle bool
	// Pods is the number of pods of the components that may run, terminating ones included.
	Pods int
	// Foreign are foreign Deployments and pods with the labels of the components, each as kind and name.
	Foreign []string
	// Unmanaged are Deployments of the Superset that have no component in this release, such as those of a newer one
	// before a rollback of the operator.
	Unmanaged []string
	// WebDesired reports whether the spec has at least one pod of the web server.
	WebDesired bool
	// WebExists reports whether the web server may have traffic: it has a pod, or a Deployment with replicas that is
	// not terminating.
	WebExists bool
	// WebReady reports whether the web server's Deployment, as last applied, has a ready pod.
	WebReady bool
}

// absent reports whether no pod of a component runs or is about to start.
func (w Workloads) absent() bool { return w.Pods == 0 && (!w.Exist || w.Idle) }

// Page is the state of the maintenance page.
type Page struct {
	// Configured reports whether the spec has a maintenance page and a web server.
	Configured bool
	// Ready reports whether a pod of the page is ready.
	Ready bool
	// Routed reports whether the web server's Service selects the page.
	Routed bool
	// Failure is the reason why no pod of the page is ready; empty if unknown.
	Failure string
}

// Step is one desired task.
type Step struct {
	Kind    resolve.TaskKind
	JobName string
	// Checksum covers everything that makes the task run again. Inputs covers only its own inputs, without the tasks
	// before it.
	Checksum, Inputs string
	// KeysChecksum and SettingsChecksum are parts of the preflight's checksum: the secret keys, and all of its inputs except
	// the image and the trigger.
	KeysChecksum, SettingsChecksum string
	// PodHash is the fingerprint of the desired pod.
	PodHash string
	Image   string
	// ImageInput stands for Image in the checksums: a Job with that image is as good.
	ImageInput string
	// MaxRetries is the total number of attempts.
	MaxRetries int32
	// RequiresDrain requires that the components are removed before the task.
	RequiresDrain bool
	Retention     v1alpha1.RetentionPolicy
}

// JobState is the state of a Job.
type JobState int

// Job states.
const (
	JobActive JobState = iota
	JobSucceeded
	JobFailed
)

// Job is the observed Job of a task.
type Job struct {
	UID types.UID
	// Checksum, PodHash and Attempt are the values that the Job was created with. Attempt is 0 on a Job of the
	// legacy operator.
	Checksum, PodHash string
	Attempt           int32
	// Image is the image of the main container.
	Image string
	State JobState
	// Deleting reports whether the Job is terminating: it is deleted, and its last pod still exists.
	Deleting bool
	// Podless reports whether an active Job has no pod, or only one that is terminating.
	Podless bool
	// FinishedAt is set for a finished Job.
	FinishedAt *metav1.Time
	// Message is the cause of the failure of a Job.
	Message string
	// ExitCode and LogTail come from the failed pod, if it still exists.
	ExitCode *int32
	LogTail  string
	// StoredSecrets are the counts of a succeeded Job; nil if it has none. ResultPending reports whether its pod, which
	// has them, is still observed as running.
	StoredSecrets *v1alpha1.StoredSecretsStatus
	ResultPending bool
	// StartFailure is the reason why the Job's pod cannot start; empty if unknown.
	StartFailure string
}

// Verb is the operation on a Job.
type Verb string

// Verbs.
const (
	Create Verb = "create"
	Delete Verb = "delete"
)

// Action is one operation on a Job, to be executed after the state is persisted.
type Action struct {
	Verb Verb
	// Task is the name of the task, for example "migrate".
	Task string
	// Attempt is the number of the attempt to create. Repeated reports whether it was counted before: its Job was not created,
	// or was deleted by a user.
	Attempt  int32
	Repeated bool
	// UID is the UID of the Job to delete, so that another Job of the same name stays.
	UID types.UID
}

// Mode limits the changes to the components.
type Mode string

// Modes.
const (
	// Apply reconciles all components to the spec.
	Apply Mode = "apply"
	// Hold reconciles existing components to the spec, except that they keep their current image while another one
	// waits. It adds no component, and starts none that [Decision.IsFormer].
	Hold Mode = "hold"
	// Wait leaves the components unchanged: a task runs, or they are drained.
	Wait Mode = "wait"
)

// Decision is the result of [Decide].
type Decision struct {
	// Status is the state to persist.
	Status    *v1alpha1.LifecycleStatus
	LastImage string
	// Mode limits the changes to the components.
	Mode Mode
	// Initial reports whether the tasks have never completed, Upgrading whether they run for another image than the
	// last time.
	Initial, Upgrading bool
	// From is the image that a change starts from: LastImage, or the image of a newer migration since. Empty if the
	// tasks never completed.
	From string
	// Image is the desired image of the tasks.
	Image string
	// Phase is AwaitingApproval or Blocked while the tasks may not start, otherwise empty.
	Phase v1alpha1.Phase
	// Condition is LifecycleComplete without its times. Schedule is ScheduleValid, nil without a schedule.
	Condition metav1.Condition
	Schedule  *metav1.Condition
	Actions   []Action
	// Drain deletes the workloads of all components. It is set only if the web server's Service selects the
	// maintenance page, or if there is no page.
	Drain bool
	// Drained reports whether a drain keeps the components removed.
	Drained bool
	// ScaleUp restores the replicas of Deployments that a stop scaled to zero, and changes nothing else about them.
	ScaleUp bool
	// Page reports whether the maintenance page has to run. The Service selects it while Status.MaintenanceActive is
	// true.
	Page bool
	// ClearApprovals removes the approval annotations, since their change is settled.
	ClearApprovals bool
	Events         []statusevents.Event
	// Next is the time of the next decision if the cluster does not change; zero for none.
	Next time.Time
}

// IsFormer reports whether a component did not get the image that the metastore was migrated for, although the change
// is recorded: its apply failed, or the operator ended before it. Its current image is older than that. An older image
// that the spec requests for this component alone is not a former one. If a former component has no pods, none may start
// until it gets the desired image.
func (d *Decision) IsFormer(current, desired string) bool {
	for _, metastore := range []string{d.From, d.Status.MigratedImage} {
		requested := older(metastore, desired) && !older(metastore, d.Image)
		if older(metastore, current) && !requested {
			return true
		}
	}
	return false
}

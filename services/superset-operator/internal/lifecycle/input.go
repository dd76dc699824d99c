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
	Stopped   bool
	Retention v1alpha1.RetentionPolicy
	Now       time.Time
}

// Step is one task that should have run.
type Step struct {
	Kind     resolve.TaskKind
	JobName  string
	Checksum string
	// PodHash is the fingerprint of the pod that the task would run in now.
	PodHash string
	Image   string
	// MaxRetries is the total number of attempts.
	MaxRetries int32
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
	State             JobState
	// Deleting is true from the deletion until the last pod is gone.
	Deleting bool
	// FinishedAt is set for a finished Job.
	FinishedAt *metav1.Time
	// Message says why a Job failed.
	Message string
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

// Decision is the answer of [Decide].
type Decision struct {
	// Status is the state to persist; nil for none.
	Status    *v1alpha1.LifecycleStatus
	LastImage string
	// Done is true when components may be reconciled.
	Done bool
	// Initial is true until the tasks have completed for the first time, Upgrading
	// while they run for another image than the last time.
	Initial, Upgrading bool
	// Condition is LifecycleComplete without its times.
	Condition metav1.Condition
	Actions   []Action
	Events    []Event
	// Next is when to decide again although nothing happens; zero for never.
	Next time.Time
}

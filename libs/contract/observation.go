package contract

import "time"

// Observation is the state of one object as one observer (an operator) sees it at one
// moment. It is complete: a reader needs no earlier observation.
//
// The version is (Object.UID, Epoch, Seq). Readers keep the greatest one and ignore
// the others, so duplicates, reordering and replay have no effect.
type Observation struct {
	Object   Object   `json:"object"`
	Observer Observer `json:"observer"`
	// Epoch is the start of the observer's leadership term in milliseconds since 1970,
	// or one more than the greatest epoch known before, whichever is greater.
	Epoch int64 `json:"epoch"`
	// Seq counts the observations of this object within the epoch, from 1.
	Seq uint64 `json:"seq"`
	// ObservedAt is the time of the observation by the observer's clock. It is informational: no rule reads it.
	ObservedAt time.Time `json:"observedAt"`
	// ValidForSeconds is the validity of the observation after the last heartbeat, in seconds.
	ValidForSeconds int `json:"validForSeconds"`
	// ObservedGeneration is the newest generation of the object's spec that was applied
	// and that every child has observed.
	ObservedGeneration int64     `json:"observedGeneration"`
	Deleting           bool      `json:"deleting,omitempty"`
	Phase              string    `json:"phase,omitempty"`
	DeployedVersion    string    `json:"deployedVersion,omitempty"`
	Reconcile          Reconcile `json:"reconcile"`
	Intent             Intent    `json:"intent"`
	// Units are the workloads that the spec declares, whether they exist or not.
	Units []Unit `json:"units,omitempty"`
	// Jobs are the tasks of the object that run, or whose last run matters.
	Jobs []Job `json:"jobs,omitempty"`
	// Dependencies are other resources that this one needs.
	Dependencies []Dependency `json:"dependencies,omitempty"`
	// UpgradeBlockers are the reasons why an upgrade should not begin now,
	// beyond those that follow from the rest of the observation.
	UpgradeBlockers []string `json:"upgradeBlockers,omitempty"`
	// Coalesced counts the observations that this one replaced before they were sent.
	Coalesced int `json:"coalesced,omitempty"`
}

// Object identifies one incarnation of a Kubernetes object.
type Object struct {
	GroupVersionKind
	Namespace       string `json:"namespace"`
	Name            string `json:"name"`
	UID             string `json:"uid"`
	Generation      int64  `json:"generation"`
	ResourceVersion string `json:"resourceVersion,omitempty"`
}

// Observer identifies the process that made the observation.
type Observer struct {
	Name     string `json:"name"`     // for example "superset-operator"; equals the subject's last token
	Instance string `json:"instance"` // the process, usually the pod's name
	Version  string `json:"version,omitempty"`
}

// Outcome is the outcome of the last reconcile.
type Outcome string

// Outcomes of a reconcile.
const (
	Succeeded Outcome = "Succeeded"
	Failed    Outcome = "Failed"
)

// Reconcile is the outcome of the observer's last reconcile of the object.
type Reconcile struct {
	Outcome Outcome `json:"outcome"`
	// Reason of a failure. Of a success it is set when the latest spec waits without a
	// failure, for example for an approval; the message then has the remedy.
	Reason  string     `json:"reason,omitempty"`
	Message string     `json:"message,omitempty"` // at most 1 KiB, never a Secret's content
	Since   *time.Time `json:"since,omitempty"`   // since when this outcome lasts
	// Terminal is true when no retry can succeed before the spec, or what it refers to, changes.
	Terminal bool `json:"terminal,omitempty"`
}

// Intent is what the user requested in addition to the desired state.
type Intent struct {
	Paused  bool `json:"paused,omitempty"`
	Stopped bool `json:"stopped,omitempty"`
	// PausedBy and StoppedBy name the field or annotation of the request, for messages.
	PausedBy  string `json:"pausedBy,omitempty"`
	StoppedBy string `json:"stoppedBy,omitempty"`
}

// Role is the current role of a unit in the service of its object.
type Role string

// Roles of a unit. Availability reads only the serving ones.
const (
	Serving  Role = "serving"
	Incoming Role = "incoming" // being rolled out, not yet serving
	Outgoing Role = "outgoing" // draining, no longer serving
)

// Unit is one workload that the spec declares.
type Unit struct {
	Name string `json:"name"` // informational, unique within the object, for example "webServer" or "g3"
	Kind string `json:"kind"` // Deployment, StatefulSet, ...
	Role Role   `json:"role"`
	// Routed is false while users' traffic does not reach the unit although it is
	// meant to serve, for example behind a maintenance page.
	Routed bool `json:"routed"`
	// Present is false while the workload does not exist; all counts are then zero.
	Present bool `json:"present"`
	// Observed is true when the workload's controller has seen the spec that was last applied.
	Observed  bool  `json:"observed"`
	Desired   int32 `json:"desired"`
	Current   int32 `json:"current"`
	Updated   int32 `json:"updated"`
	Ready     int32 `json:"ready"`
	Available int32 `json:"available"`
	// Terminating counts terminating pods.
	Terminating int32 `json:"terminating,omitempty"`
	// MinAvailable is the number of available replicas at which the unit counts as available; nil means Desired.
	MinAvailable *int32 `json:"minAvailable,omitempty"`
	// Stalled is true when the workload's progress deadline has passed.
	Stalled  bool      `json:"stalled,omitempty"`
	Failures []Failure `json:"failures,omitempty"`
}

// FailureClass is a class of pod failures.
type FailureClass string

// Failure classes, terminal ones first: those do not clear by waiting.
const (
	FailureCrashLoop     FailureClass = "CrashLoop"
	FailureImagePull     FailureClass = "ImagePull"
	FailureConfigError   FailureClass = "ConfigError"
	FailurePodFailed     FailureClass = "PodFailed"
	FailureEvicted       FailureClass = "Evicted"
	FailureOOMKilled     FailureClass = "OOMKilled"
	FailureUnschedulable FailureClass = "Unschedulable"
	FailureNodeLost      FailureClass = "NodeLost"
	FailureProbeFailing  FailureClass = "ProbeFailing"
	FailureCreateFailed  FailureClass = "CreateFailed"
)

// Failure describes the pods of one unit that have a failure of one class.
type Failure struct {
	Class    FailureClass `json:"class"`
	Count    int32        `json:"count"`
	Examples []string     `json:"examples,omitempty"` // at most 3 pod names
	Message  string       `json:"message,omitempty"`  // at most 1 KiB
}

// JobState is the state of a task.
type JobState string

// States of a task.
const (
	JobPending  JobState = "Pending"
	JobRunning  JobState = "Running"
	JobFailed   JobState = "Failed" // permanently: no retry is left
	JobComplete JobState = "Complete"
)

// Job is one task of the object, for example a database migration.
type Job struct {
	Name    string   `json:"name"`
	State   JobState `json:"state"`
	Message string   `json:"message,omitempty"`
}

// Dependency is another resource that the object needs.
type Dependency struct {
	Kind    string `json:"kind"`
	Name    string `json:"name"`
	Ready   bool   `json:"ready"`
	Message string `json:"message,omitempty"`
}

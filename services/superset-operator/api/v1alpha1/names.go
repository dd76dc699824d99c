package v1alpha1

// Labels on the objects that belong to a Superset. Users cannot override them.
const (
	LabelName      = "app.kubernetes.io/name"
	LabelComponent = "app.kubernetes.io/component"
	LabelInstance  = "app.kubernetes.io/instance"
	// LabelParent holds the name of the Superset, on every object that belongs to it.
	LabelParent = "superset.apache.org/parent"
	// LabelTaskInstance holds {superset}-{task} on task Jobs and their pods.
	LabelTaskInstance = "superset.apache.org/instance"
	// LabelTask holds the name of the task in lower case on task Jobs and their pods.
	LabelTask = "superset.apache.org/init-task"

	// NameValue is the value of LabelName.
	NameValue = "superset"
	// TaskComponentValue is the value of LabelComponent on task Jobs and their pods.
	TaskComponentValue = "init"
)

// Annotations.
const (
	// AnnotationConfigChecksum is the checksum of the configuration: on pod templates, where a change rolls out new
	// pods, and on task Jobs, which run for this checksum.
	AnnotationConfigChecksum = "superset.apache.org/config-checksum"
	// AnnotationPodSpecHash is the hash of the desired pod, on task Jobs.
	AnnotationPodSpecHash = "superset.apache.org/task-pod-spec-hash"
	// AnnotationAttempt is the number of the attempt that a task Job runs, starting from 1.
	AnnotationAttempt = "superset.apache.org/task-attempt"
	// AnnotationApproveUpgrade is set by the user on a Superset and holds an approval token.
	AnnotationApproveUpgrade = "superset.apache.org/approve-upgrade"
	// AnnotationApproveDowngrade is set by the user on a Superset and holds an approval token for one change to an
	// older version, for example after the metastore was restored from a backup.
	AnnotationApproveDowngrade = "superset.apache.org/approve-downgrade"
	// AnnotationCommand is set by the user on a Superset: Paused or Stopped.
	AnnotationCommand = "operator-command"
)

// Values of AnnotationCommand.
const (
	CommandPaused  = "Paused"
	CommandStopped = "Stopped"
)

// Condition types that the operator owns. Available, Progressing, Degraded,
// Upgradable, Paused, Stopped and Ready belong to the field manager flotilla-conditions.
const (
	// ConditionLifecycleComplete is True when no lifecycle task is pending, running or failed.
	ConditionLifecycleComplete = "LifecycleComplete"
	// ConditionSuspended is True while the operator reconciles nothing because the user suspended it.
	ConditionSuspended = "Suspended"
	// ConditionScheduleValid reports whether the cronSchedule of the clone is valid. It is absent without one.
	ConditionScheduleValid = "ScheduleValid"
	// ConditionTaskComplete is True on a task that completed for the desired checksum.
	ConditionTaskComplete = "TaskComplete"
)

// Reasons of LifecycleComplete and TaskComplete.
const (
	ReasonLifecycleComplete = "LifecycleComplete"
	ReasonLifecycleDisabled = "LifecycleDisabled"
	ReasonNoLifecycleTasks  = "NoLifecycleTasks"
	ReasonTaskComplete      = "TaskComplete"
	ReasonTaskInProgress    = "TaskInProgress"
	ReasonTaskRetrying      = "TaskRetrying"
	ReasonTaskCannotStart   = "TaskCannotStart"
	ReasonTaskFailed        = "TaskFailed"
	// ReasonTaskWaiting means that the task waits for an earlier task, the deletion of a former Job, the pods of a deleted
	// Job, an approval or a valid schedule, or that the Superset is stopped.
	ReasonTaskWaiting = "TaskWaiting"
	// ReasonDraining means that components are being removed before a task; ReasonComponentsDrained means that they
	// are removed.
	ReasonDraining          = "Draining"
	ReasonComponentsDrained = "ComponentsDrained"
	// ReasonNotOwned means that a foreign Deployment or pod has the labels of the components.
	ReasonNotOwned = "NotOwned"
	// ReasonDowngradeBlocked means that the image is older than the one that the metastore was migrated for.
	ReasonDowngradeBlocked = "DowngradeBlocked"
	// ReasonAwaitingApproval means that upgradeMode is Supervised and the change has no approval.
	ReasonAwaitingApproval = "AwaitingApproval"
	// ReasonInvalidCronSchedule means that cronSchedule matches the schema but never matches a time.
	ReasonInvalidCronSchedule = "InvalidCronSchedule"
	// ReasonInvalidSpec means that the spec contradicts itself in a way that the schema cannot detect, so nothing runs
	// and nothing is changed.
	ReasonInvalidSpec = "InvalidSpec"
)

// Reasons of ScheduleValid.
const (
	ReasonSchedulesValid = "SchedulesValid"
)

// Reasons of Suspended.
const (
	ReasonSuspended       = "Suspended"
	ReasonNotSuspended    = "NotSuspended"
	ReasonOperatorCommand = "OperatorCommand"
)

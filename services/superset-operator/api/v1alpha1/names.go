package v1alpha1

// Labels on the objects that belong to a Superset. Users cannot override them.
const (
	LabelName      = "app.kubernetes.io/name"
	LabelComponent = "app.kubernetes.io/component"
	LabelInstance  = "app.kubernetes.io/instance"
	// LabelParent holds the name of the Superset, on everything that belongs to it.
	LabelParent = "superset.apache.org/parent"
	// LabelTaskInstance holds {superset}-{task} on task Jobs and their pods.
	LabelTaskInstance = "superset.apache.org/instance"
	// LabelTask holds the task's name in lower case on task Jobs and their pods.
	LabelTask = "superset.apache.org/init-task"

	// NameValue is the value of LabelName.
	NameValue = "superset"
	// TaskComponentValue is the value of LabelComponent on task Jobs and their pods.
	TaskComponentValue = "init"
)

// Annotations.
const (
	// AnnotationConfigChecksum stands on pod templates, where a change rolls the pods,
	// and on task Jobs, where it is the checksum that the Job works for.
	AnnotationConfigChecksum = "superset.apache.org/config-checksum"
	// AnnotationPodSpecHash stands on task Jobs: the hash of the pod that was asked for.
	AnnotationPodSpecHash = "superset.apache.org/task-pod-spec-hash"
	// AnnotationAttempt stands on task Jobs: which attempt this Job is, from 1.
	AnnotationAttempt = "superset.apache.org/task-attempt"
	// AnnotationApproveUpgrade is set by the user on a Superset and holds an approval token.
	AnnotationApproveUpgrade = "superset.apache.org/approve-upgrade"
	// AnnotationApproveDowngrade is set by the user on a Superset and holds an approval
	// token: that one change goes back to an older version, for example after the
	// metastore was restored from a backup.
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
	// ConditionSuspended is True while the operator reconciles nothing because the user said so.
	ConditionSuspended = "Suspended"
	// ConditionScheduleValid says whether the clone's cronSchedule can be read; absent without one.
	ConditionScheduleValid = "ScheduleValid"
	// ConditionTaskComplete stands on a task: it completed for the checksum that is wanted.
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
	// ReasonTaskWaiting: the task waits for an earlier task, or because the Superset is stopped.
	ReasonTaskWaiting = "TaskWaiting"
	// ReasonDraining: components are being removed before a task; ReasonComponentsDrained: they are gone.
	ReasonDraining          = "Draining"
	ReasonComponentsDrained = "ComponentsDrained"
	// ReasonNotOwned: a Deployment or pod of somebody else bears the labels of the components.
	ReasonNotOwned = "NotOwned"
	// ReasonDowngradeBlocked: the image is older than the one that the metastore was migrated for.
	ReasonDowngradeBlocked = "DowngradeBlocked"
	// ReasonAwaitingApproval: upgradeMode is Supervised and the change has no approval.
	ReasonAwaitingApproval = "AwaitingApproval"
	// ReasonInvalidCronSchedule: cronSchedule matches the schema but names no time.
	ReasonInvalidCronSchedule = "InvalidCronSchedule"
	// ReasonInvalidSpec: the spec contradicts itself in a way that the schema cannot
	// tell, so nothing runs and nothing is changed.
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

// Package statusevents holds the reasons of the Kubernetes events of a Superset.
//
// The decision that changes a state also returns its events ([Event]), so that each is emitted once, after that state
// is stored. All other reasons are those of the controller. A failed reconcile has the reason of its conditions.
package statusevents

// Event is a Kubernetes event to emit once.
type Event struct {
	Warning         bool
	Reason, Message string
}

// Reasons of the events of the tasks and of the maintenance page.
const (
	// EventLifecycleStarted: tasks begin, without a change of the image or for the first one.
	EventLifecycleStarted = "LifecycleStarted"
	// EventLifecycleComplete: the tasks are complete, or their change was reverted.
	EventLifecycleComplete = "LifecycleComplete"
	// EventUpgradeStarted: the tasks of an image change begin.
	EventUpgradeStarted = "UpgradeStarted"
	// EventUpgradeCompleted: the tasks of an image change are complete.
	EventUpgradeCompleted = "UpgradeCompleted"
	// EventAwaitingApproval: an image change waits for an approval.
	EventAwaitingApproval = "AwaitingApproval"
	// EventUpgradeApproved: an image change was approved.
	EventUpgradeApproved = "UpgradeApproved"
	// EventDowngradeBlocked (Warning): the image is older than the one of the last migration.
	EventDowngradeBlocked = "DowngradeBlocked"
	// EventDowngradeApproved: the change to an older image was approved.
	EventDowngradeApproved = "DowngradeApproved"
	// EventVersionComparisonSkipped (Warning): the tags cannot be ordered, so a downgrade would not be detected.
	EventVersionComparisonSkipped = "VersionComparisonSkipped"
	// EventInvalidCronSchedule (Warning): the clone's schedule is invalid.
	EventInvalidCronSchedule = "InvalidCronSchedule"
	// EventNotOwned (Warning): a foreign object blocks a task or the reconcile.
	EventNotOwned = "NotOwned"
	// EventDrainingStarted: the components are deleted before a task.
	EventDrainingStarted = "DrainingStarted"
	// EventDrainingCompleted: the last pod of the components has terminated.
	EventDrainingCompleted = "DrainingCompleted"
	// EventMaintenanceStarted: the maintenance page receives the traffic of the web server.
	EventMaintenanceStarted = "MaintenanceStarted"
	// EventMaintenanceEnded: traffic is routed to the web server again.
	EventMaintenanceEnded = "MaintenanceEnded"
	// EventTaskStarted: an attempt begins.
	EventTaskStarted = "TaskStarted"
	// EventTaskSucceeded: a task is complete.
	EventTaskSucceeded = "TaskSucceeded"
	// EventTaskRetry (Warning): an attempt failed and another one follows.
	EventTaskRetry = "TaskRetry"
	// EventTaskFailed (Warning): the last attempt failed.
	EventTaskFailed = "TaskFailed"
	// EventTaskCannotStart (Warning): the pod of a task does not start.
	EventTaskCannotStart = "TaskCannotStart"
	// EventTaskRecovering: a task gets another pod, since its settings changed.
	EventTaskRecovering = "TaskRecovering"
	// EventTaskImageChanged: a Job with another image is replaced.
	EventTaskImageChanged = "TaskImageChanged"
)

// Reasons of the events of the controller.
const (
	// EventAdopted: an orphan was adopted.
	EventAdopted = "Adopted"
	// EventOptionalKindMissing (Warning): the spec requires a kind that the cluster does not serve.
	EventOptionalKindMissing = "OptionalKindMissing"
)

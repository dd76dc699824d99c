package lifecycle

import "fmt"

// Reasons of events. Each event is returned by the decision that also changes the
// state that caused it, so that it is emitted once, after that state is stored.
const (
	// EventLifecycleStarted: tasks begin, for the image that ran before or for the first one.
	EventLifecycleStarted = "LifecycleStarted"
	// EventLifecycleComplete: the tasks that began are complete, or what they were for was taken back.
	EventLifecycleComplete = "LifecycleComplete"
	// EventUpgradeStarted: the tasks of an image change begin.
	EventUpgradeStarted = "UpgradeStarted"
	// EventUpgradeCompleted: the tasks of an image change are complete.
	EventUpgradeCompleted = "UpgradeCompleted"
	// EventAwaitingApproval: an image change waits for an approval.
	EventAwaitingApproval = "AwaitingApproval"
	// EventUpgradeApproved: an image change was approved.
	EventUpgradeApproved = "UpgradeApproved"
	// EventDowngradeBlocked (Warning): the image is older than the one that the metastore was migrated for.
	EventDowngradeBlocked = "DowngradeBlocked"
	// EventDowngradeApproved: the change to an older image was approved.
	EventDowngradeApproved = "DowngradeApproved"
	// EventVersionComparisonSkipped (Warning): the tags say no order, so a downgrade would not be noticed.
	EventVersionComparisonSkipped = "VersionComparisonSkipped"
	// EventInvalidCronSchedule (Warning): the clone's schedule names no time.
	EventInvalidCronSchedule = "InvalidCronSchedule"
	// EventNotOwned (Warning): something of somebody else's is in the way of a task.
	EventNotOwned = "NotOwned"
	// EventDrainingStarted: the components are removed before a task.
	EventDrainingStarted = "DrainingStarted"
	// EventDrainingCompleted: the last pod of the components is gone.
	EventDrainingCompleted = "DrainingCompleted"
	// EventMaintenanceStarted: the maintenance page takes the web server's traffic.
	EventMaintenanceStarted = "MaintenanceStarted"
	// EventMaintenanceEnded: the traffic goes back to the web server.
	EventMaintenanceEnded = "MaintenanceEnded"
	// EventTaskStarted: an attempt begins.
	EventTaskStarted = "TaskStarted"
	// EventTaskSucceeded: a task is complete.
	EventTaskSucceeded = "TaskSucceeded"
	// EventTaskRetry (Warning): an attempt failed and another one will follow.
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

func (p *pass) normal(reason, format string, args ...any) { p.event(false, reason, format, args...) }

func (p *pass) warning(reason, format string, args ...any) { p.event(true, reason, format, args...) }

func (p *pass) event(warning bool, reason, format string, args ...any) {
	p.out.Events = append(p.out.Events, Event{Warning: warning, Reason: reason, Message: fmt.Sprintf(format, args...)})
}

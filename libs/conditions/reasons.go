package conditions

// Reasons of the conditions. The list is closed ([Reasons]) and part of the API.
const (
	ReasonAllComponentsReady    = "AllComponentsReady"    // Available, Ready: every serving unit has the replicas it needs
	ReasonScaledToZero          = "ScaledToZero"          // Available, Ready: every serving unit is meant to have no replicas
	ReasonInsufficientReplicas  = "InsufficientReplicas"  // Available, Degraded, Ready, Upgradable: a serving unit has too few available replicas
	ReasonNotRouted             = "NotRouted"             // Available, Ready: traffic does not reach a serving unit
	ReasonNodeUnreachable       = "NodeUnreachable"       // Available, Ready: replicas are missing only because their node is lost
	ReasonNoWorkloads           = "NoWorkloads"           // Available, Ready: no unit is declared
	ReasonObserverStale         = "ObserverStale"         // any: the observer has fallen silent
	ReasonNotYetObserved        = "NotYetObserved"        // any: no observation was received so far
	ReasonSpecNotObserved       = "SpecNotObserved"       // Progressing, Degraded, Upgradable: the newest spec has not been taken up yet
	ReasonDeleting              = "Deleting"              // Progressing, Upgradable: the object is being deleted
	ReasonReconciliationPaused  = "ReconciliationPaused"  // Paused, Progressing, Stopped, Upgradable: the user asked for a pause
	ReasonNotPaused             = "NotPaused"             // Paused: no pause is asked for
	ReasonStopped               = "Stopped"               // Available, Degraded, Ready, Stopped, Upgradable: the user asked for no pods
	ReasonStopping              = "Stopping"              // Progressing, Stopped, Upgradable: pods are still going
	ReasonRunning               = "Running"               // Stopped: no stop is asked for
	ReasonJobRunning            = "JobRunning"            // Progressing, Upgradable: a task of the object runs
	ReasonJobFailed             = "JobFailed"             // Progressing, Degraded: a task failed for good
	ReasonRollingOut            = "RollingOut"            // Progressing, Upgradable: on the way to a new spec
	ReasonReplicasMissing       = "ReplicasMissing"       // Progressing, Upgradable: replicas come back, or more are added, outside a roll-out
	ReasonScalingDown           = "ScalingDown"           // Progressing, Upgradable: surplus replicas go
	ReasonStalled               = "Stalled"               // Progressing, Degraded: a unit gets no further
	ReasonReconcileError        = "ReconcileError"        // Progressing, Degraded, Upgradable: the observer's last reconcile failed
	ReasonDependencyUnavailable = "DependencyUnavailable" // Degraded, Upgradable: a resource that the object needs is not ready
	ReasonWithinTolerance       = "WithinTolerance"       // Degraded: there is trouble, too young to count
	ReasonRecovering            = "Recovering"            // Degraded: the trouble is gone, not yet for long enough
	ReasonFlapping              = "Flapping"              // Degraded: the same trouble comes and goes
	ReasonUpgradeBlocked        = "UpgradeBlocked"        // Upgradable: the observer names a blocker
	ReasonDegraded              = "Degraded"              // Upgradable, Ready: Degraded is True
	ReasonAsExpected            = "AsExpected"            // Progressing, Degraded, Upgradable: nothing to report
)

// Reasons of Degraded, and of Upgradable while it is held back, that stand for a class of pod failures.
const (
	ReasonCrashLoop      = "CrashLoop"
	ReasonImagePull      = "ImagePull"
	ReasonConfigError    = "ConfigError"
	ReasonPodFailed      = "PodFailed"
	ReasonEvicted        = "Evicted"
	ReasonOOMKilled      = "OOMKilled"
	ReasonUnschedulable  = "Unschedulable"
	ReasonCreateFailed   = "CreateFailed"
	ReasonNodeLost       = "NodeLost"
	ReasonProbeFailing   = "ProbeFailing"
	ReasonUnknownFailure = "UnknownFailure" // a class that this release does not know
)

// Reasons lists every reason that Fold emits, in alphabetical order.
func Reasons() []string {
	return []string{
		ReasonAllComponentsReady, ReasonAsExpected, ReasonConfigError, ReasonCrashLoop, ReasonCreateFailed,
		ReasonDegraded, ReasonDeleting, ReasonDependencyUnavailable, ReasonEvicted, ReasonFlapping, ReasonImagePull,
		ReasonInsufficientReplicas, ReasonJobFailed, ReasonJobRunning, ReasonNoWorkloads, ReasonNodeLost,
		ReasonNodeUnreachable, ReasonNotPaused, ReasonNotRouted, ReasonNotYetObserved, ReasonOOMKilled,
		ReasonObserverStale, ReasonPodFailed, ReasonProbeFailing, ReasonReconcileError, ReasonReconciliationPaused,
		ReasonRecovering, ReasonReplicasMissing, ReasonRollingOut, ReasonRunning, ReasonScaledToZero,
		ReasonScalingDown, ReasonSpecNotObserved, ReasonStalled, ReasonStopped, ReasonStopping,
		ReasonUnknownFailure, ReasonUnschedulable, ReasonUpgradeBlocked, ReasonWithinTolerance,
	}
}

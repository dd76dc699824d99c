package conditions

import "slices"

// Reasons of the conditions. The list is closed ([Reasons]) and part of the API.
const (
	ReasonAllComponentsReady    = "AllComponentsReady"    // Available, Ready: every serving unit has the replicas it needs
	ReasonScaledToZero          = "ScaledToZero"          // Available, Ready: the desired replicas of every serving unit are 0
	ReasonInsufficientReplicas  = "InsufficientReplicas"  // Available, Degraded, Ready, Upgradable: a serving unit has too few available replicas
	ReasonNotRouted             = "NotRouted"             // Available, Ready: traffic does not reach a serving unit
	ReasonNodeUnreachable       = "NodeUnreachable"       // Available, Ready: replicas are missing only because their node is lost
	ReasonNoComponentsEnabled   = "NoComponentsEnabled"   // Available, Ready: the spec enables no component, and nothing is missing
	ReasonNoWorkloads           = "NoWorkloads"           // Available, Ready: no unit is known
	ReasonObserverStale         = "ObserverStale"         // any: the observer is stale
	ReasonNotYetObserved        = "NotYetObserved"        // any: no observation was received so far
	ReasonSpecNotObserved       = "SpecNotObserved"       // Progressing, Degraded, Upgradable: the latest spec is not yet observed
	ReasonDeleting              = "Deleting"              // Progressing, Upgradable: the object is being deleted
	ReasonReconciliationPaused  = "ReconciliationPaused"  // Paused, Progressing, Stopped, Upgradable: the user requested a pause
	ReasonNotPaused             = "NotPaused"             // Paused: no pause is requested
	ReasonStopped               = "Stopped"               // Available, Degraded, Ready, Stopped, Upgradable: the user requested a stop
	ReasonStopping              = "Stopping"              // Progressing, Stopped, Upgradable: pods are still terminating
	ReasonRunning               = "Running"               // Stopped: no stop is requested
	ReasonJobRunning            = "JobRunning"            // Progressing, Upgradable: a task of the object runs
	ReasonJobFailed             = "JobFailed"             // Progressing, Degraded: a task failed permanently
	ReasonRollingOut            = "RollingOut"            // Progressing, Upgradable: a rollout to a new spec is in progress
	ReasonReplicasMissing       = "ReplicasMissing"       // Progressing, Upgradable: replicas are started or replaced outside a rollout
	ReasonScalingDown           = "ScalingDown"           // Progressing, Upgradable: surplus replicas terminate
	ReasonStalled               = "Stalled"               // Progressing, Degraded: a unit makes no progress
	ReasonReconcileError        = "ReconcileError"        // Progressing, Degraded, Upgradable: the observer's last reconcile failed
	ReasonDependencyUnavailable = "DependencyUnavailable" // Degraded, Upgradable: a resource that the object needs is not ready
	ReasonWithinTolerance       = "WithinTolerance"       // Degraded: a failure is within the hold-down
	ReasonRecovering            = "Recovering"            // Degraded: the failure has cleared, not yet for long enough
	ReasonFlapping              = "Flapping"              // Degraded: the same failure appears and clears repeatedly
	ReasonUpgradeBlocked        = "UpgradeBlocked"        // Upgradable: the observer names a blocker
	ReasonDegraded              = "Degraded"              // Upgradable, Ready: Degraded is True
	ReasonAsExpected            = "AsExpected"            // Progressing, Degraded, Upgradable: nothing to report
)

// Reasons of Degraded, and of Upgradable while it is blocked, for the classes of pod failures.
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

// Reasons of an operator for a spec that it rejects, or that cannot take effect until
// the spec or what it refers to changes. Progressing is False and Degraded True.
const (
	ReasonInvalidSpec             = "InvalidSpec"                // the spec contradicts itself
	ReasonInvalidCronSchedule     = "InvalidCronSchedule"        // a schedule never matches
	ReasonDowngradeBlocked        = "DowngradeBlocked"           // the image is older than the database
	ReasonNotOwned                = "NotOwned"                   // a foreign object has a name that the resource needs
	ReasonApplyRefused            = "ApplyRefused"               // the API server rejects an object as invalid
	ReasonEngineClassUnready      = "FireboltEngineClassUnready" // the class is absent or rejected
	ReasonNotSupported            = "NotSupported"               // the release lacks a feature
	ReasonTemplateRejected        = "TemplateRejected"           // a template sets a field that the operator manages
	ReasonBoundsExceeded          = "ResourceBoundsExceeded"     // resources beyond what the operator allows
	ReasonRolledBack              = "RolledBack"                 // the rollout missed its deadline and was rolled back
	ReasonEnsureFailed            = "EnsureFailed"               // the API server rejects an object of an instance as invalid
	ReasonPostgresEnsureFailed    = "PostgresEnsureFailed"       // the same for the operator's own PostgreSQL
	ReasonInstanceIDMismatch      = "InstanceIDMismatch"         // the data of the database belongs to another id
	ReasonPostgresCredentialsLost = "PostgresCredentialsLost"    //nolint:gosec // a reason: the database exists, its password does not

	ReasonPostgresSecretPreflightFailed = "PostgresSecretPreflightFailed" // the credentials are absent or incomplete
)

// Reasons of an operator for a spec that waits without a failure.
// Progressing and Upgradable are False.
const (
	ReasonAwaitingApproval = "AwaitingApproval" // an image change waits for an approval
	ReasonRolloutThrottled = "RolloutThrottled" // a rollout waits for others to end
)

// TerminalReasons lists the reasons of a reconcile with a permanent failure, in alphabetical order.
func TerminalReasons() []string {
	return []string{
		ReasonApplyRefused, ReasonDowngradeBlocked, ReasonEnsureFailed, ReasonEngineClassUnready, ReasonInstanceIDMismatch, ReasonInvalidCronSchedule,
		ReasonInvalidSpec, ReasonNotOwned, ReasonNotSupported, ReasonPostgresCredentialsLost, ReasonPostgresEnsureFailed,
		ReasonPostgresSecretPreflightFailed,
		ReasonBoundsExceeded, ReasonRolledBack, ReasonTemplateRejected,
	}
}

// WaitingReasons lists the reasons of a reconcile that succeeded and whose spec waits, in alphabetical order.
func WaitingReasons() []string { return []string{ReasonAwaitingApproval, ReasonRolloutThrottled} }

// Reasons lists every reason that [Compute] emits, in alphabetical order.
func Reasons() []string {
	return slices.Sorted(slices.Values(slices.Concat(ownReasons(), TerminalReasons(), WaitingReasons())))
}

// ownReasons returns the reasons that follow from the rules.
func ownReasons() []string {
	return []string{
		ReasonAllComponentsReady, ReasonAsExpected, ReasonConfigError, ReasonCrashLoop, ReasonCreateFailed,
		ReasonDegraded, ReasonDeleting, ReasonDependencyUnavailable, ReasonEvicted, ReasonFlapping, ReasonImagePull,
		ReasonInsufficientReplicas, ReasonJobFailed, ReasonJobRunning, ReasonNoComponentsEnabled, ReasonNoWorkloads, ReasonNodeLost,
		ReasonNodeUnreachable, ReasonNotPaused, ReasonNotRouted, ReasonNotYetObserved, ReasonOOMKilled,
		ReasonObserverStale, ReasonPodFailed, ReasonProbeFailing, ReasonReconcileError, ReasonReconciliationPaused,
		ReasonRecovering, ReasonReplicasMissing, ReasonRollingOut, ReasonRunning, ReasonScaledToZero,
		ReasonScalingDown, ReasonSpecNotObserved, ReasonStalled, ReasonStopped, ReasonStopping,
		ReasonUnknownFailure, ReasonUnschedulable, ReasonUpgradeBlocked, ReasonWithinTolerance,
	}
}

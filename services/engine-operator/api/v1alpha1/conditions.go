package v1alpha1

// Annotation for a command of the user, and its values (specification 004).
// Paused and Stopped exclude each other, because there is one annotation.
const (
	AnnotationCommand = "operator-command"
	CommandPaused     = "Paused"  // nothing is reconciled; the status is still updated
	CommandStopped    = "Stopped" // the effective number of replicas is 0
)

// Finalizers of this group.
const (
	EngineFinalizer   = "compute.firebolt.io/engine-cleanup"
	InstanceFinalizer = "compute.firebolt.io/instance-cleanup"
	ClassFinalizer    = "compute.firebolt.io/fireboltengineclass-deletion-guard"
)

// ConditionReady reports whether the object is ready (engine, class, instance).
const ConditionReady = "Ready"

// Reasons of an engine's Ready, in the order of precedence (specification 001, "Top-level
// Ready condition"): the first one that applies is shown.
const (
	ReasonInitializing       = "Initializing"               // no reconcile has completed yet
	ReasonInstanceNotReady   = "InstanceNotReady"           // the instance that the engine requires is not ready
	ReasonEngineClassUnready = "FireboltEngineClassUnready" // the class does not exist or is invalid
	ReasonNotSupported       = "NotSupported"               // the spec requires a feature that this release does not support
	ReasonTemplateRejected   = "TemplateRejected"           // the template sets fields that the operator manages
	ReasonBoundsExceeded     = "ResourceBoundsExceeded"     // a request or limit of the engine container exceeds the maximum
	ReasonStopped            = "Stopped"                    // the desired number of replicas is 0
	ReasonDrainCheckFailing  = "DrainCheckFailing"          // the queries of the old generation cannot be read
	ReasonRolling            = "Rolling"                    // a rollout is in progress
	ReasonPodsNotReady       = "PodsNotReady"               // the phase is stable, but pods are missing or not ready
	ReasonEngineReady        = "EngineReady"                // the active generation serves
	ReasonExternalFinalizer  = "ExternalFinalizer"          // a foreign finalizer blocks the deletion of a child
	ReasonApplyRefused       = "ApplyRefused"               // instead of Rolling or PodsNotReady: the API server rejects an object
)

// ConditionInstanceReady reports whether the instance of the engine provides an id and a metadata endpoint.
const ConditionInstanceReady = "InstanceReady"

// ReasonInstanceReady is the reason of InstanceReady=True.
const ReasonInstanceReady = "InstanceReady"

// ConditionRolloutOverdue is True while a rollout exceeds its deadline.
const ConditionRolloutOverdue = "RolloutOverdue"

// Reasons of RolloutOverdue.
const (
	ReasonOnTime                   = "OnTime"                   // the rollout is within its deadline, or none is in progress
	ReasonProgressDeadlineExceeded = "ProgressDeadlineExceeded" // the new generation is not ready within progressDeadline
	ReasonDrainTimeoutExceeded     = "DrainTimeoutExceeded"     // the old generation ran queries beyond drainTimeout and is deleted
)

// ConditionRolledBack is True while the engine serves an older generation than its spec
// requires, because automaticRollback abandoned the newer one.
const ConditionRolledBack = "RolledBack"

// ReasonNotRolledBack is the reason of RolledBack=False. For True it is ReasonProgressDeadlineExceeded.
const ReasonNotRolledBack = "NotRolledBack"

// Reasons of a class's Ready.
const (
	ReasonAdmissible            = "Admissible"            // the class is valid
	ReasonOperatorOwnedFieldSet = "OperatorOwnedFieldSet" // the template sets fields that the operator manages
)

// Component conditions of an instance. Ready is computed from them.
const (
	ConditionMetadataReady   = "MetadataReady"
	ConditionGatewayReady    = "GatewayReady"
	ConditionAuthReady       = "AuthReady"
	ConditionEngineTLSReady  = "EngineTLSReady"
	ConditionGatewayTLSReady = "GatewayTLSReady"
)

// Reasons of an instance's conditions.
const (
	ReasonAllComponentsReady            = "AllComponentsReady"
	ReasonComponentReady                = "Ready"                         // a pod of the component is ready
	ReasonProvisioning                  = "Provisioning"                  // created, not yet ready
	ReasonEnsureFailed                  = "EnsureFailed"                  // the API server rejected an object
	ReasonPostgresEnsureFailed          = "PostgresEnsureFailed"          // the same for the PostgreSQL of the operator
	ReasonPostgresSecretPreflightFailed = "PostgresSecretPreflightFailed" // the credentials are missing or incomplete
	ReasonInstanceIDMismatch            = "InstanceIDMismatch"            // the data of the database belongs to another id
	ReasonPostgresCredentialsLost       = "PostgresCredentialsLost"       //nolint:gosec // a reason: the database exists, its password was deleted
	ReasonProbeFailed                   = "ProbeFailed"                   // the component runs, but its pods are not ready
	ReasonDeletionBlocked               = "DeletionBlocked"               // engines still use the instance
	ReasonStopping                      = "Stopping"                      // the pods are terminating
)

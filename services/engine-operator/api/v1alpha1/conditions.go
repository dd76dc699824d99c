package v1alpha1

// Annotation that carries a user's command, and its values (seed 004).
// Paused wins over Stopped: there is one annotation, so only one can be asked.
const (
	AnnotationCommand = "operator-command"
	CommandPaused     = "Paused"  // no reconciling; status stays fresh
	CommandStopped    = "Stopped" // effective replicas are zero
)

// Finalizers of this group.
const (
	EngineFinalizer   = "compute.firebolt.io/engine-cleanup"
	InstanceFinalizer = "compute.firebolt.io/instance-cleanup"
	ClassFinalizer    = "compute.firebolt.io/fireboltengineclass-deletion-guard"
)

// ConditionReady says whether the object does what it is for (engine, class, instance).
const ConditionReady = "Ready"

// Reasons of an engine's Ready, in the order of precedence (seed 001, "Top-level
// Ready condition"): the first that holds is the one that is shown.
const (
	ReasonInitializing       = "Initializing"               // no pass has finished yet
	ReasonInstanceNotReady   = "InstanceNotReady"           // nothing downstream works without the instance
	ReasonEngineClassUnready = "FireboltEngineClassUnready" // the class is absent or refused
	ReasonNotSupported       = "NotSupported"               // the spec asks for a feature that this release lacks
	ReasonTemplateRejected   = "TemplateRejected"           // the template sets what belongs to the operator
	ReasonBoundsExceeded     = "ResourceBoundsExceeded"     // the engine container asks for more than the operator allows
	ReasonStopped            = "Stopped"                    // deliberately at zero replicas
	ReasonDrainCheckFailing  = "DrainCheckFailing"          // the old generation cannot be asked for its queries
	ReasonRolling            = "Rolling"                    // between two generations
	ReasonPodsNotReady       = "PodsNotReady"               // phase stable, but pods are missing or unready
	ReasonEngineReady        = "EngineReady"                // serving on the active generation
	ReasonExternalFinalizer  = "ExternalFinalizer"          // somebody else's finalizer holds a child
	ReasonApplyRefused       = "ApplyRefused"               // instead of Rolling or PodsNotReady: the API server refuses what the spec asks for
)

// ConditionInstanceReady says whether the engine's instance gave it an id and a metadata endpoint.
const ConditionInstanceReady = "InstanceReady"

// ReasonInstanceReady is the reason of InstanceReady=True.
const ReasonInstanceReady = "InstanceReady"

// ConditionRolloutOverdue is True while a rollout takes longer than it may.
const ConditionRolloutOverdue = "RolloutOverdue"

// Reasons of RolloutOverdue.
const (
	ReasonOnTime                   = "OnTime"                   // within its time, or no rollout is under way
	ReasonProgressDeadlineExceeded = "ProgressDeadlineExceeded" // the new generation is not ready within progressDeadline
	ReasonDrainTimeoutExceeded     = "DrainTimeoutExceeded"     // the old generation ran queries beyond drainTimeout, and goes
)

// ConditionRolledBack is True while the engine serves an older generation than its spec
// asks for, because automaticRollback gave the newer one up.
const ConditionRolledBack = "RolledBack"

// ReasonNotRolledBack is the reason of RolledBack=False. For True it is ReasonProgressDeadlineExceeded.
const ReasonNotRolledBack = "NotRolledBack"

// Reasons of a class's Ready.
const (
	ReasonAdmissible            = "Admissible"            // engines can be made from the class
	ReasonOperatorOwnedFieldSet = "OperatorOwnedFieldSet" // the template sets what belongs to the operator
)

// Component conditions of an instance. Ready is rolled up from them.
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
	ReasonComponentReady                = "Ready"                         // a pod of the component answers
	ReasonProvisioning                  = "Provisioning"                  // created, not yet ready
	ReasonEnsureFailed                  = "EnsureFailed"                  // the API server refused an object
	ReasonPostgresEnsureFailed          = "PostgresEnsureFailed"          // the same for the operator's own PostgreSQL
	ReasonPostgresSecretPreflightFailed = "PostgresSecretPreflightFailed" // the credentials are absent or incomplete
	ReasonPostgresCredentialsLost       = "PostgresCredentialsLost"       // the database exists, its password does not
	ReasonProbeFailed                   = "ProbeFailed"                   // the component runs, its pods are not ready
	ReasonDeletionBlocked               = "DeletionBlocked"               // engines still use the instance
	ReasonStopping                      = "Stopping"                      // its pods are ending
)

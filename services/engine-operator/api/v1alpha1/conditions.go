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
	ReasonEngineClassUnready = "FireboltEngineClassUnready" // the class is absent or refused
	ReasonNotSupported       = "NotSupported"               // the spec asks for a feature that this release lacks
	ReasonInstanceNotReady   = "InstanceNotReady"           // nothing downstream works without the instance
	ReasonStopped            = "Stopped"                    // deliberately at zero replicas
	ReasonDrainCheckFailing  = "DrainCheckFailing"          // the old generation cannot be asked for its queries
	ReasonRolling            = "Rolling"                    // between two generations
	ReasonPodsNotReady       = "PodsNotReady"               // phase stable, but pods are missing or unready
	ReasonEngineReady        = "EngineReady"                // serving on the active generation
	ReasonExternalFinalizer  = "ExternalFinalizer"          // somebody else's finalizer holds a child
)

// ConditionInstanceReady says whether the engine's instance gave it an id and a metadata endpoint.
const ConditionInstanceReady = "InstanceReady"

// ReasonInstanceReady is the reason of InstanceReady=True.
const ReasonInstanceReady = "InstanceReady"

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
	ReasonProvisioning                  = "Provisioning"                  // created, not yet ready
	ReasonEnsureFailed                  = "EnsureFailed"                  // the API server refused an object
	ReasonPostgresEnsureFailed          = "PostgresEnsureFailed"          // the same for the operator's own PostgreSQL
	ReasonPostgresSecretPreflightFailed = "PostgresSecretPreflightFailed" // the credentials are absent or incomplete
	ReasonPostgresCredentialsLost       = "PostgresCredentialsLost"       // the database exists, its password does not
	ReasonNotManaged                    = "NotManaged"                    // this release does not run the component
	ReasonDeletionBlocked               = "DeletionBlocked"               // engines still use the instance
	ReasonStopping                      = "Stopping"                      // waits for its engines to stop
)

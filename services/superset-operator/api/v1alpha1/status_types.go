package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/libs/conditions/transition"
)

// Phase is the state of the whole installation.
//
// +kubebuilder:validation:Enum=Initializing;Upgrading;Running;Degraded;Suspended;Stopped;Blocked;AwaitingApproval
type Phase string

// Phases.
const (
	// The tasks of the first deployment run, or its components start.
	PhaseInitializing Phase = "Initializing"
	// The tasks of another image run, or its components start.
	PhaseUpgrading Phase = "Upgrading"
	// All components are ready.
	PhaseRunning Phase = "Running"
	// A component is not ready.
	PhaseDegraded Phase = "Degraded"
	// The user asked that nothing is changed.
	PhaseSuspended Phase = "Suspended"
	// The user asked for no pods, and the last one is gone.
	PhaseStopped Phase = "Stopped"
	// The spec cannot be followed, or a task failed and no attempt is left; what runs stays as it is.
	PhaseBlocked Phase = "Blocked"
	// An image change waits for its approval; the old version runs.
	PhaseAwaitingApproval Phase = "AwaitingApproval"
)

// Phases returns all phases.
func Phases() []Phase {
	return []Phase{
		PhaseInitializing, PhaseUpgrading, PhaseRunning, PhaseDegraded,
		PhaseSuspended, PhaseStopped, PhaseBlocked, PhaseAwaitingApproval,
	}
}

// SupersetStatus is what the operator found and did. The operator owns every
// field but the conditions of the field manager flotilla-conditions.
type SupersetStatus struct {
	// Generation of the spec that the rest of the status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// State of the whole installation. Initializing and Upgrading last from the first task until all components are
	// ready; Degraded means that a component is not; Blocked and AwaitingApproval keep the running version. Blocked needs a
	// change of the spec: it cannot be followed, or a task failed and no attempt is left.
	// +optional
	Phase Phase `json:"phase,omitempty"`
	// Version that is asked for: spec.image.tag.
	// +optional
	Version string `json:"version,omitempty"`
	// Version that runs: the tag of the image with which all components were ready last. Empty until they were.
	// +optional
	DeployedVersion string `json:"deployedVersion,omitempty"`
	// Ready pods of all components over those that are asked for, for example "3/4".
	// +optional
	Ready string `json:"ready,omitempty"`
	// Checksum of the settings that all components share.
	// +optional
	ConfigChecksum string `json:"configChecksum,omitempty"`
	// Image, as repository:tag, for which the tasks last completed.
	// +optional
	LastLifecycleImage string `json:"lastLifecycleImage,omitempty"`
	// State of each enabled component.
	// +optional
	Components *ComponentsStatus `json:"components,omitempty"`
	// State of the lifecycle tasks.
	// +optional
	Lifecycle *LifecycleStatus `json:"lifecycle,omitempty"`
	// Last 20 changes of the phase, oldest first. Flapping between Running and Degraded is left out.
	// +listType=atomic
	// +optional
	Transitions []transition.Entry `json:"transitions,omitempty"`
	// LifecycleComplete, Suspended and ScheduleValid are the operator's; Available, Progressing, Degraded, Upgradable,
	// Paused, Stopped and Ready say how the installation is.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ComponentsStatus holds one entry per enabled component.
type ComponentsStatus struct {
	// Web server.
	// +optional
	WebServer *ComponentRefStatus `json:"webServer,omitempty"`
	// Celery worker.
	// +optional
	CeleryWorker *ComponentRefStatus `json:"celeryWorker,omitempty"`
	// Celery scheduler.
	// +optional
	CeleryBeat *ComponentRefStatus `json:"celeryBeat,omitempty"`
	// Monitor of Celery.
	// +optional
	CeleryFlower *ComponentRefStatus `json:"celeryFlower,omitempty"`
	// Websocket server.
	// +optional
	WebsocketServer *ComponentRefStatus `json:"websocketServer,omitempty"`
	// MCP server.
	// +optional
	MCPServer *ComponentRefStatus `json:"mcpServer,omitempty"`
}

// ComponentPhase is the state of one component.
//
// +kubebuilder:validation:Enum=Pending;Progressing;Ready;Unavailable;Drained
type ComponentPhase string

// Component phases.
const (
	// The Deployment is not there yet.
	ComponentPending ComponentPhase = "Pending"
	// A rollout is under way.
	ComponentProgressing ComponentPhase = "Progressing"
	// All pods are ready and of the newest revision.
	ComponentReady ComponentPhase = "Ready"
	// No pod is ready, or the rollout made no progress in time.
	ComponentUnavailable ComponentPhase = "Unavailable"
	// Removed while tasks run.
	ComponentDrained ComponentPhase = "Drained"
)

// ComponentRefStatus is the state of one component's workload.
type ComponentRefStatus struct {
	// State of the workload: Pending is not there yet, Progressing is rolling out, Unavailable has no ready pod or made no
	// progress in time, Drained was removed while tasks run.
	// +optional
	Phase ComponentPhase `json:"phase,omitempty"`
	// Ready pods over those that are asked for, for example "2/2".
	// +optional
	Ready string `json:"ready,omitempty"`
	// Kind and name of the workload, for example "Deployment/example-web-server".
	// +optional
	Ref string `json:"ref,omitempty"`
	// Image of the main container.
	// +optional
	Image string `json:"image,omitempty"`
	// Pods that are asked for.
	// +optional
	Replicas int32 `json:"replicas,omitempty"`
	// Pods that are ready.
	// +optional
	ReadyReplicas int32 `json:"readyReplicas,omitempty"`
	// Pods of the newest revision.
	// +optional
	UpdatedReplicas int32 `json:"updatedReplicas,omitempty"`
	// Pods that have been ready for minReadySeconds.
	// +optional
	AvailableReplicas int32 `json:"availableReplicas,omitempty"`
	// Checksum of the component's configuration.
	// +optional
	ConfigChecksum string `json:"configChecksum,omitempty"`
	// Pods that the autoscaler last asked for. The component comes back with as many after it was drained or stopped.
	// +optional
	LastReplicas int32 `json:"lastReplicas,omitempty"`
	// Fingerprint of what this operator would have made of the spec, on a component whose workload an earlier operator
	// made. While it stays, the workload stays as it was found, and no pod restarts.
	// +optional
	AdoptedSpec string `json:"adoptedSpec,omitempty"`
	// Why the component is not ready.
	// +optional
	Message string `json:"message,omitempty"`
	// Objects that the component should have.
	// +listType=map
	// +listMapKey=kind
	// +listMapKey=name
	// +optional
	Resources []ResourceStatus `json:"resources,omitempty"`
}

// ResourceState says whether an object exists.
//
// +kubebuilder:validation:Enum=Present;Missing
type ResourceState string

// Resource states.
const (
	// The object exists.
	ResourcePresent ResourceState = "Present"
	// The object does not exist.
	ResourceMissing ResourceState = "Missing"
)

// ResourceStatus is one object of a component.
type ResourceStatus struct {
	// Kind of the object.
	Kind string `json:"kind"`
	// Name of the object.
	Name string `json:"name"`
	// Whether the object exists: Present or Missing.
	// +optional
	Status ResourceState `json:"status,omitempty"`
}

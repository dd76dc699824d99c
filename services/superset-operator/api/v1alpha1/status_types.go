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
	// PhaseInitializing means that the tasks of the first deployment run, or its components start.
	PhaseInitializing Phase = "Initializing"
	// PhaseUpgrading means that the tasks of another image run, or its components start.
	PhaseUpgrading Phase = "Upgrading"
	// PhaseRunning means that all components are ready.
	PhaseRunning Phase = "Running"
	// PhaseDegraded means that a component is not ready.
	PhaseDegraded Phase = "Degraded"
	// PhaseSuspended means that the user suspended all changes.
	PhaseSuspended Phase = "Suspended"
	// PhaseStopped means that the user stopped the installation and the last pod is deleted.
	PhaseStopped Phase = "Stopped"
	// PhaseBlocked means that the spec is invalid, or that a task failed and no attempt is left. The running version
	// is kept.
	PhaseBlocked Phase = "Blocked"
	// PhaseAwaitingApproval means that an image change waits for its approval. The old version runs.
	PhaseAwaitingApproval Phase = "AwaitingApproval"
)

// Phases returns all phases.
func Phases() []Phase {
	return []Phase{
		PhaseInitializing, PhaseUpgrading, PhaseRunning, PhaseDegraded,
		PhaseSuspended, PhaseStopped, PhaseBlocked, PhaseAwaitingApproval,
	}
}

// SupersetStatus is the observed state of an installation. The operator owns every field except the conditions of the
// field manager flotilla-conditions.
type SupersetStatus struct {
	// observedGeneration is the metadata.generation that the rest of the status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// phase is the state of the whole installation. Initializing and Upgrading last from the first task until all
	// components are ready. Degraded means that a component is not ready. Blocked and AwaitingApproval keep the
	// running version. Blocked requires a change of the spec: the spec is invalid, or a task failed and no attempt is
	// left.
	// +optional
	Phase Phase `json:"phase,omitempty"`
	// version is the desired version: spec.image.tag.
	// +optional
	Version string `json:"version,omitempty"`
	// deployedVersion is the version that runs: the tag of the image with which all components were last ready. It is
	// empty until they were.
	// +optional
	DeployedVersion string `json:"deployedVersion,omitempty"`
	// ready is the number of ready pods of all components over the desired number, for example "3/4".
	// +optional
	Ready string `json:"ready,omitempty"`
	// configChecksum is the checksum of the settings that all components share.
	// +optional
	ConfigChecksum string `json:"configChecksum,omitempty"`
	// lastLifecycleImage is the image for which the tasks last completed, as repository:tag.
	// +optional
	LastLifecycleImage string `json:"lastLifecycleImage,omitempty"`
	// components is the state of each enabled component.
	// +optional
	// +structType=atomic
	Components *ComponentsStatus `json:"components,omitempty"`
	// lifecycle is the state of the lifecycle tasks.
	// +optional
	// +structType=atomic
	Lifecycle *LifecycleStatus `json:"lifecycle,omitempty"`
	// transitions are the last 20 changes of the phase, oldest first. Flapping between Running and Degraded is left
	// out.
	// +listType=atomic
	// +optional
	Transitions []transition.Entry `json:"transitions,omitempty"`
	// conditions describe the installation. LifecycleComplete, Suspended and ScheduleValid belong to the operator;
	// Available, Progressing, Degraded, Upgradable, Paused, Stopped and Ready to flotilla-conditions.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ComponentsStatus has one entry per enabled component.
type ComponentsStatus struct {
	// webServer is the state of the web server.
	// +optional
	WebServer *ComponentRefStatus `json:"webServer,omitempty"`
	// celeryWorker is the state of the Celery worker.
	// +optional
	CeleryWorker *ComponentRefStatus `json:"celeryWorker,omitempty"`
	// celeryBeat is the state of the Celery scheduler.
	// +optional
	CeleryBeat *ComponentRefStatus `json:"celeryBeat,omitempty"`
	// celeryFlower is the state of Flower, the monitor of Celery.
	// +optional
	CeleryFlower *ComponentRefStatus `json:"celeryFlower,omitempty"`
	// websocketServer is the state of the websocket server.
	// +optional
	WebsocketServer *ComponentRefStatus `json:"websocketServer,omitempty"`
	// mcpServer is the state of the MCP server.
	// +optional
	MCPServer *ComponentRefStatus `json:"mcpServer,omitempty"`
}

// ComponentPhase is the state of one component.
//
// +kubebuilder:validation:Enum=Pending;Progressing;Ready;Unavailable;Drained
type ComponentPhase string

// Component phases.
const (
	// ComponentPending means that the Deployment does not exist yet.
	ComponentPending ComponentPhase = "Pending"
	// ComponentProgressing means that a rollout is in progress.
	ComponentProgressing ComponentPhase = "Progressing"
	// ComponentReady means that all pods are ready and of the latest revision.
	ComponentReady ComponentPhase = "Ready"
	// ComponentUnavailable means that no pod is ready, or that the rollout exceeded its progress deadline.
	ComponentUnavailable ComponentPhase = "Unavailable"
	// ComponentDrained means that the component is removed while tasks run.
	ComponentDrained ComponentPhase = "Drained"
)

// ComponentRefStatus is the state of one component's workload.
type ComponentRefStatus struct {
	// phase is the state of the workload. Pending does not exist yet, Progressing is rolling out, Unavailable has no
	// ready pod or exceeded its progress deadline, Drained was removed while tasks run.
	// +optional
	Phase ComponentPhase `json:"phase,omitempty"`
	// ready is the number of ready pods over the desired number, for example "2/2".
	// +optional
	Ready string `json:"ready,omitempty"`
	// ref is the kind and name of the workload, for example "Deployment/example-web-server".
	// +optional
	Ref string `json:"ref,omitempty"`
	// image is the image of the main container.
	// +optional
	Image string `json:"image,omitempty"`
	// replicas is the desired number of pods.
	// +optional
	Replicas int32 `json:"replicas,omitempty"`
	// readyReplicas is the number of pods that are ready.
	// +optional
	ReadyReplicas int32 `json:"readyReplicas,omitempty"`
	// updatedReplicas is the number of pods of the latest revision.
	// +optional
	UpdatedReplicas int32 `json:"updatedReplicas,omitempty"`
	// availableReplicas is the number of pods that have been ready for minReadySeconds.
	// +optional
	AvailableReplicas int32 `json:"availableReplicas,omitempty"`
	// configChecksum is the checksum of the component's configuration.
	// +optional
	ConfigChecksum string `json:"configChecksum,omitempty"`
	// lastReplicas is the number of pods that the autoscaler last set. The component starts with this number after a
	// drain or a stop.
	// +optional
	LastReplicas int32 `json:"lastReplicas,omitempty"`
	// adoptedSpec is the fingerprint of what this operator would render from the spec, for a component whose workload
	// was created by an earlier operator. While the fingerprint does not change, the workload is not modified and no
	// pod restarts.
	// +optional
	AdoptedSpec string `json:"adoptedSpec,omitempty"`
	// message states why the component is not ready.
	// +optional
	Message string `json:"message,omitempty"`
	// resources are the objects that the component should have.
	// +listType=map
	// +listMapKey=kind
	// +listMapKey=name
	// +optional
	Resources []ResourceStatus `json:"resources,omitempty"`
}

// ResourceState states whether an object exists.
//
// +kubebuilder:validation:Enum=Present;Missing
type ResourceState string

// Resource states.
const (
	// ResourcePresent means that the object exists.
	ResourcePresent ResourceState = "Present"
	// ResourceMissing means that the object does not exist.
	ResourceMissing ResourceState = "Missing"
)

// ResourceStatus is one object of a component.
type ResourceStatus struct {
	// kind is the kind of the object.
	Kind string `json:"kind"`
	// name is the name of the object.
	Name string `json:"name"`
	// status states whether the object exists: Present or Missing.
	// +optional
	Status ResourceState `json:"status,omitempty"`
}

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
	PhaseInitializing     Phase = "Initializing"
	PhaseUpgrading        Phase = "Upgrading"
	PhaseRunning          Phase = "Running"
	PhaseDegraded         Phase = "Degraded"
	PhaseSuspended        Phase = "Suspended"
	PhaseStopped          Phase = "Stopped"
	PhaseBlocked          Phase = "Blocked"
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
	// ObservedGeneration is the generation of the spec that the rest of the status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// +optional
	Phase Phase `json:"phase,omitempty"`
	// Version is spec.image.tag.
	// +optional
	Version string `json:"version,omitempty"`
	// Ready is the sum of ready replicas over the sum of desired ones, for example "3/4".
	// +optional
	Ready string `json:"ready,omitempty"`
	// ConfigChecksum covers what all components share.
	// +optional
	ConfigChecksum string `json:"configChecksum,omitempty"`
	// LastLifecycleImage is the image, as repository:tag, for which the tasks last completed.
	// +optional
	LastLifecycleImage string `json:"lastLifecycleImage,omitempty"`
	// +optional
	Components *ComponentsStatus `json:"components,omitempty"`
	// +optional
	Lifecycle *LifecycleStatus `json:"lifecycle,omitempty"`
	// Transitions are the last 20 changes of phase, oldest first. Flapping between
	// Running and Degraded is left out.
	// +listType=atomic
	// +optional
	Transitions []transition.Entry `json:"transitions,omitempty"`
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ComponentsStatus holds one entry per enabled component.
type ComponentsStatus struct {
	// +optional
	WebServer *ComponentRefStatus `json:"webServer,omitempty"`
	// +optional
	CeleryWorker *ComponentRefStatus `json:"celeryWorker,omitempty"`
	// +optional
	CeleryBeat *ComponentRefStatus `json:"celeryBeat,omitempty"`
	// +optional
	CeleryFlower *ComponentRefStatus `json:"celeryFlower,omitempty"`
	// +optional
	WebsocketServer *ComponentRefStatus `json:"websocketServer,omitempty"`
	// +optional
	MCPServer *ComponentRefStatus `json:"mcpServer,omitempty"`
}

// ComponentPhase is the state of one component.
//
// +kubebuilder:validation:Enum=Pending;Progressing;Ready;Unavailable;Drained
type ComponentPhase string

// Component phases.
const (
	ComponentPending     ComponentPhase = "Pending"
	ComponentProgressing ComponentPhase = "Progressing"
	ComponentReady       ComponentPhase = "Ready"
	ComponentUnavailable ComponentPhase = "Unavailable"
	ComponentDrained     ComponentPhase = "Drained"
)

// ComponentRefStatus is the state of one component's workload.
type ComponentRefStatus struct {
	// +optional
	Phase ComponentPhase `json:"phase,omitempty"`
	// Ready is ready over desired replicas, for example "2/2".
	// +optional
	Ready string `json:"ready,omitempty"`
	// Ref names the workload, for example "Deployment/example-web-server".
	// +optional
	Ref string `json:"ref,omitempty"`
	// +optional
	Image string `json:"image,omitempty"`
	// +optional
	Replicas int32 `json:"replicas,omitempty"`
	// +optional
	ReadyReplicas int32 `json:"readyReplicas,omitempty"`
	// +optional
	UpdatedReplicas int32 `json:"updatedReplicas,omitempty"`
	// +optional
	AvailableReplicas int32 `json:"availableReplicas,omitempty"`
	// +optional
	ConfigChecksum string `json:"configChecksum,omitempty"`
	// LastReplicas is what the autoscaler last asked for. The component comes back with
	// it after its workload was removed or stopped.
	// +optional
	LastReplicas int32 `json:"lastReplicas,omitempty"`
	// AdoptedSpec stands on a component whose workload an earlier operator made: the
	// fingerprint of what this operator would have made of the same spec. While that
	// stays, the workload stays as it was found, and no pod restarts.
	// +optional
	AdoptedSpec string `json:"adoptedSpec,omitempty"`
	// +optional
	Message string `json:"message,omitempty"`
	// Resources are the objects that the component should have.
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
	ResourcePresent ResourceState = "Present"
	ResourceMissing ResourceState = "Missing"
)

// ResourceStatus is one object of a component.
type ResourceStatus struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	// +optional
	Status ResourceState `json:"status,omitempty"`
}

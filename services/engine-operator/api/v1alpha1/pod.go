package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RolloutStrategy says how the old generation of an engine goes.
// +kubebuilder:validation:Enum=graceful;recreate
type RolloutStrategy string

// Rollout strategies.
const (
	RolloutGraceful RolloutStrategy = "graceful" // running queries finish first
	RolloutRecreate RolloutStrategy = "recreate" // the old generation goes at once
)

// EngineStorageSpec is where an engine keeps its local data. None set means an emptyDir.
// +kubebuilder:validation:XValidation:rule="[has(self.persistentVolumeClaim), has(self.emptyDir), has(self.hostPath)].filter(x, x).size() <= 1",message="storage: at most one of persistentVolumeClaim, emptyDir and hostPath may be set"
type EngineStorageSpec struct {
	// PersistentVolumeClaim gives each pod a volume of its own, deleted with its generation.
	// +optional
	PersistentVolumeClaim *EnginePVCStorage `json:"persistentVolumeClaim,omitempty"`
	// EmptyDir keeps the data on the node for the lifetime of the pod.
	// +optional
	EmptyDir *EngineEmptyDirStorage `json:"emptyDir,omitempty"`
	// HostPath keeps the data in a folder of the node.
	// +optional
	HostPath *EngineHostPathStorage `json:"hostPath,omitempty"`
}

// EnginePVCStorage describes the claim of each pod.
type EnginePVCStorage struct {
	// Size of each volume.
	// +optional
	// +kubebuilder:default="1Gi"
	Size resource.Quantity `json:"size,omitempty"`
	// AccessModes of each volume.
	// +optional
	// +listType=atomic
	// +kubebuilder:default={ReadWriteOnce}
	AccessModes []corev1.PersistentVolumeAccessMode `json:"accessModes,omitempty"`
	// StorageClassName; absent means the cluster's default class.
	// +optional
	StorageClassName *string `json:"storageClassName,omitempty"`
}

// EngineEmptyDirStorage describes a volume that lives as long as its pod.
type EngineEmptyDirStorage struct {
	// Medium is empty for the node's disk, or Memory.
	// +optional
	// +kubebuilder:validation:Enum="";Memory
	Medium corev1.StorageMedium `json:"medium,omitempty"`
	// SizeLimit of the volume.
	// +optional
	SizeLimit *resource.Quantity `json:"sizeLimit,omitempty"`
}

// EngineHostPathStorage describes a folder of the node.
type EngineHostPathStorage struct {
	// Path on the node, absolute.
	// +required
	// +kubebuilder:validation:Pattern=`^/.*`
	Path string `json:"path"`
	// Type of the path; absent means no check.
	// +optional
	Type *corev1.HostPathType `json:"type,omitempty"`
}

// AutoStopSpec stops an engine that nobody uses, and keeps it up in windows of time.
// +kubebuilder:validation:XValidation:rule="!self.enabled",message="autoStop.enabled: this release of the engine operator does not support autoStop"
// +kubebuilder:validation:XValidation:rule="self.activeReplicas >= (has(self.idleReplicas) ? self.idleReplicas : 0)",message="autoStop.activeReplicas must be at least autoStop.idleReplicas"
type AutoStopSpec struct {
	// Enabled switches the feature on.
	// +required
	// +kubebuilder:default=false
	Enabled bool `json:"enabled"`
	// ActiveReplicas is the size of a running engine.
	// +required
	// +kubebuilder:validation:Minimum=1
	ActiveReplicas int32 `json:"activeReplicas"`
	// IdleReplicas is the size of an idle engine.
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	IdleReplicas *int32 `json:"idleReplicas,omitempty"`
	// IdleTimeout is how long an engine must be without queries.
	// +optional
	// +kubebuilder:default="30m"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s')",message="idleTimeout must be a duration such as 90s, 5m or 1h30m, and not negative"
	IdleTimeout *metav1.Duration `json:"idleTimeout,omitempty"`
	// PollInterval is how often the engine is asked for its queries.
	// +optional
	// +kubebuilder:default="1m"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s')",message="pollInterval must be a duration such as 90s, 5m or 1h30m, and not negative"
	PollInterval *metav1.Duration `json:"pollInterval,omitempty"`
	// Schedule lists the windows in which the engine stays up.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Schedule []AutoStopWindow `json:"schedule,omitempty"`
}

// AutoStopWindow is a daily or weekly window in UTC. An end before the start crosses
// midnight, and the tail belongs to the day of the start.
type AutoStopWindow struct {
	// Start of the window, HH:MM.
	// +required
	// +kubebuilder:validation:Pattern=`^([01]\d|2[0-3]):[0-5]\d$`
	Start string `json:"start"`
	// End of the window, HH:MM.
	// +required
	// +kubebuilder:validation:Pattern=`^([01]\d|2[0-3]):[0-5]\d$`
	End string `json:"end"`
	// Days of the week; empty means every day.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=7
	Days []Weekday `json:"days,omitempty"`
}

// Weekday is a day of the week.
// +kubebuilder:validation:Enum=Mon;Tue;Wed;Thu;Fri;Sat;Sun
type Weekday string

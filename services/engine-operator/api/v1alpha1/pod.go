package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RolloutStrategy defines how the old generation of an engine is removed.
// +kubebuilder:validation:Enum=graceful;recreate
type RolloutStrategy string

// Rollout strategies.
const (
	RolloutGraceful RolloutStrategy = "graceful" // running queries complete first
	RolloutRecreate RolloutStrategy = "recreate" // the old generation is deleted at once
)

// EngineStorageSpec is where an engine stores its local data. Defaults to an emptyDir.
// +kubebuilder:validation:XValidation:rule="[has(self.persistentVolumeClaim), has(self.emptyDir), has(self.hostPath)].filter(x, x).size() <= 1",message="storage: at most one of persistentVolumeClaim, emptyDir and hostPath may be set"
type EngineStorageSpec struct {
	// persistentVolumeClaim creates a volume for each pod, which is deleted with its generation.
	// +optional
	PersistentVolumeClaim *EnginePVCStorage `json:"persistentVolumeClaim,omitempty"`
	// emptyDir stores the data on the node for the lifetime of the pod.
	// +optional
	EmptyDir *EngineEmptyDirStorage `json:"emptyDir,omitempty"`
	// hostPath stores the data in a directory of the node.
	// +optional
	HostPath *EngineHostPathStorage `json:"hostPath,omitempty"`
}

// EnginePVCStorage configures the claim of each pod.
type EnginePVCStorage struct {
	// size is the size of each volume.
	// +optional
	// +kubebuilder:default="1Gi"
	Size resource.Quantity `json:"size,omitempty"`
	// accessModes are the access modes of each volume.
	// +optional
	// +listType=atomic
	// +kubebuilder:default={ReadWriteOnce}
	AccessModes []corev1.PersistentVolumeAccessMode `json:"accessModes,omitempty"`
	// storageClassName is the name of the storage class. Defaults to the default class of the cluster.
	// +optional
	StorageClassName *string `json:"storageClassName,omitempty"`
}

// EngineEmptyDirStorage configures a volume with the lifetime of its pod.
type EngineEmptyDirStorage struct {
	// medium is empty for the disk of the node, or Memory.
	// +optional
	// +kubebuilder:validation:Enum="";Memory
	Medium corev1.StorageMedium `json:"medium,omitempty"`
	// sizeLimit is the size limit of the volume.
	// +optional
	SizeLimit *resource.Quantity `json:"sizeLimit,omitempty"`
}

// EngineHostPathStorage is a directory of the node.
type EngineHostPathStorage struct {
	// path is the absolute path on the node.
	// +required
	// +kubebuilder:validation:Pattern=`^/.*`
	Path string `json:"path"`
	// type is the type of the path. When unset, it is not checked.
	// +optional
	Type *corev1.HostPathType `json:"type,omitempty"`
}

// AutoStopSpec stops an idle engine, and keeps it running in windows of time.
// +kubebuilder:validation:XValidation:rule="!self.enabled",message="autoStop.enabled: this release of the engine operator does not support autoStop"
// +kubebuilder:validation:XValidation:rule="self.activeReplicas >= (has(self.idleReplicas) ? self.idleReplicas : 0)",message="autoStop.activeReplicas must be at least autoStop.idleReplicas"
type AutoStopSpec struct {
	// enabled turns the feature on.
	// +required
	// +kubebuilder:default=false
	Enabled bool `json:"enabled"`
	// activeReplicas is the number of nodes of a running engine.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	ActiveReplicas int32 `json:"activeReplicas"`
	// idleReplicas is the number of nodes of an idle engine.
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	IdleReplicas *int32 `json:"idleReplicas,omitempty"`
	// idleTimeout is how long an engine must run no query to be idle.
	// +optional
	// +kubebuilder:default="30m"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s')",message="idleTimeout must be a duration such as 90s, 5m or 1h30m, and not negative"
	IdleTimeout *metav1.Duration `json:"idleTimeout,omitempty"`
	// pollInterval is the time between two checks for running queries.
	// +optional
	// +kubebuilder:default="1m"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s')",message="pollInterval must be a duration such as 90s, 5m or 1h30m, and not negative"
	PollInterval *metav1.Duration `json:"pollInterval,omitempty"`
	// schedule lists the windows in which the engine keeps running.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Schedule []AutoStopWindow `json:"schedule,omitempty"`
}

// AutoStopWindow is a daily or weekly window in UTC. An end before the start crosses midnight, and the tail belongs
// to the day of the start.
type AutoStopWindow struct {
	// start is the start of the window, HH:MM.
	// +required
	// +kubebuilder:validation:Pattern=`^([01]\d|2[0-3]):[0-5]\d$`
	Start string `json:"start"`
	// end is the end of the window, HH:MM.
	// +required
	// +kubebuilder:validation:Pattern=`^([01]\d|2[0-3]):[0-5]\d$`
	End string `json:"end"`
	// days are the days of the week; empty means every day.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=7
	Days []Weekday `json:"days,omitempty"`
}

// Weekday is a day of the week.
// +kubebuilder:validation:Enum=Mon;Tue;Wed;Thu;Fri;Sat;Sun
type Weekday string

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// LifecyclePhase is the state of the tasks.
type LifecyclePhase string

// Lifecycle phases. Restoring lasts from the last task until the components are ready.
const (
	LifecycleCloning          LifecyclePhase = "Cloning"
	LifecycleDraining         LifecyclePhase = "Draining"
	LifecycleMigrating        LifecyclePhase = "Migrating"
	LifecycleRotating         LifecyclePhase = "Rotating"
	LifecycleInitializing     LifecyclePhase = "Initializing"
	LifecycleRestoring        LifecyclePhase = "Restoring"
	LifecycleComplete         LifecyclePhase = "Complete"
	LifecycleBlocked          LifecyclePhase = "Blocked"
	LifecycleAwaitingApproval LifecyclePhase = "AwaitingApproval"
)

// LifecycleStatus is the durable state of the tasks: a completed task stays
// visible here after its Job is gone.
type LifecycleStatus struct {
	// +optional
	Phase LifecyclePhase `json:"phase,omitempty"`
	// MaintenanceActive is true while the web server's Service leads to the maintenance page.
	// +optional
	MaintenanceActive bool `json:"maintenanceActive,omitempty"`
	// ChecksumScheme names the method by which the checksums below were computed.
	// Without it they come from another operator and are compared by image instead.
	// +optional
	ChecksumScheme string `json:"checksumScheme,omitempty"`
	// LastCompletedChecksums holds, by task type (Clone, Migrate, Rotate, Init), the
	// checksums with which the components last ran. They outlive the tasks' slots, so
	// that going back to what ran before runs no task. A clone that begins clears them,
	// since it drops the database that they speak of.
	// +optional
	LastCompletedChecksums map[string]string `json:"lastCompletedChecksums,omitempty"`
	// CompletedInputs holds, by task type, the fingerprint of the task's own inputs
	// when it last completed. It is what a task that is disabled since contributes to
	// the checksums of those after it, so that disabling one runs none of them again.
	// +optional
	CompletedInputs map[string]string `json:"completedInputs,omitempty"`
	// +optional
	Clone *TaskRefStatus `json:"clone,omitempty"`
	// +optional
	Migrate *TaskRefStatus `json:"migrate,omitempty"`
	// +optional
	Rotate *TaskRefStatus `json:"rotate,omitempty"`
	// +optional
	Init *TaskRefStatus `json:"init,omitempty"`
	// Upgrade describes an image change that is not settled.
	// +optional
	Upgrade *UpgradeContext `json:"upgrade,omitempty"`
}

// TaskState is the state of one task.
//
// +kubebuilder:validation:Enum=Pending;Running;Complete;Failed
type TaskState string

// Task states. Failed is for good: no attempt is left.
const (
	TaskPending  TaskState = "Pending"
	TaskRunning  TaskState = "Running"
	TaskComplete TaskState = "Complete"
	TaskFailed   TaskState = "Failed"
)

// TaskRefStatus is the state of one task.
type TaskRefStatus struct {
	// +optional
	State TaskState `json:"state,omitempty"`
	// Ref names the Job, for example "Job/example-migrate".
	// +optional
	Ref string `json:"ref,omitempty"`
	// StartedAt is when the current or last attempt began.
	// +optional
	StartedAt *metav1.Time `json:"startedAt,omitempty"`
	// +optional
	CompletedAt *metav1.Time `json:"completedAt,omitempty"`
	// Attempts counts the attempts that were begun for desiredChecksum.
	// +optional
	Attempts int32 `json:"attempts,omitempty"`
	// +optional
	MaxRetries int32 `json:"maxRetries,omitempty"`
	// +optional
	Image string `json:"image,omitempty"`
	// +optional
	Message string `json:"message,omitempty"`
	// ExitCode is that of the last failed attempt's main container.
	// +optional
	ExitCode *int32 `json:"exitCode,omitempty"`
	// LogTail holds the last lines that the last failed attempt printed, secrets redacted.
	// +optional
	LogTail string `json:"logTail,omitempty"`
	// PodSpecHash is the fingerprint of the pod that the last attempt ran in. A task
	// that failed for good is tried again when it changes.
	// +optional
	PodSpecHash string `json:"podSpecHash,omitempty"`
	// NextAttemptAt is when a failed task is tried again.
	// +optional
	NextAttemptAt *metav1.Time `json:"nextAttemptAt,omitempty"`
	// DesiredChecksum covers everything that makes the task run again.
	// +optional
	DesiredChecksum string `json:"desiredChecksum,omitempty"`
	// CompletedChecksum is the desiredChecksum of the last completion. It is cleared
	// before a Job for another checksum is made, because that Job may change the database.
	// +optional
	CompletedChecksum string `json:"completedChecksum,omitempty"`
	// LastScheduledAt is the tick of cronSchedule that the last run belongs to.
	// +optional
	LastScheduledAt *metav1.Time `json:"lastScheduledAt,omitempty"`
	// NextScheduleAt is the next tick of cronSchedule.
	// +optional
	NextScheduleAt *metav1.Time `json:"nextScheduleAt,omitempty"`
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// UpgradeDirection compares two versions.
//
// +kubebuilder:validation:Enum=Upgrade;Downgrade;Rebuild;Unknown
type UpgradeDirection string

// Upgrade directions. Rebuild is another image of the same version.
const (
	DirectionUpgrade   UpgradeDirection = "Upgrade"
	DirectionDowngrade UpgradeDirection = "Downgrade"
	DirectionRebuild   UpgradeDirection = "Rebuild"
	DirectionUnknown   UpgradeDirection = "Unknown"
)

// UpgradeContext describes an image change that is not settled.
type UpgradeContext struct {
	// +optional
	FromVersion string `json:"fromVersion,omitempty"`
	// +optional
	ToVersion string `json:"toVersion,omitempty"`
	// +optional
	Direction UpgradeDirection `json:"direction,omitempty"`
	// ApprovalToken is what AnnotationApproveUpgrade must hold to approve this change and no other.
	// +optional
	ApprovalToken string `json:"approvalToken,omitempty"`
	// ApprovedAt is when the change was approved; tasks that began go on even if the
	// annotation is removed.
	// +optional
	ApprovedAt *metav1.Time `json:"approvedAt,omitempty"`
	// StartedAt is when the change was first seen.
	// +optional
	StartedAt *metav1.Time `json:"startedAt,omitempty"`
}

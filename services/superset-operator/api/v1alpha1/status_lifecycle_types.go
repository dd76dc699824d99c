package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// LifecyclePhase is the state of the tasks.
type LifecyclePhase string

// Lifecycle phases. Restoring lasts from the last task until the components are ready.
const (
	// The task preflight runs.
	LifecycleChecking LifecyclePhase = "Checking"
	// The task clone runs.
	LifecycleCloning LifecyclePhase = "Cloning"
	// Components are removed before a task.
	LifecycleDraining LifecyclePhase = "Draining"
	// The task migrate runs.
	LifecycleMigrating LifecyclePhase = "Migrating"
	// The task rotate runs.
	LifecycleRotating LifecyclePhase = "Rotating"
	// The task init runs.
	LifecycleInitializing LifecyclePhase = "Initializing"
	// The tasks are complete, the components are not all ready yet.
	LifecycleRestoring LifecyclePhase = "Restoring"
	// The tasks are complete and the components were ready.
	LifecycleComplete LifecyclePhase = "Complete"
	// The tasks may not begin until the spec changes or is overridden.
	LifecycleBlocked LifecyclePhase = "Blocked"
	// The tasks of another image wait for an approval.
	LifecycleAwaitingApproval LifecyclePhase = "AwaitingApproval"
)

// LifecycleStatus is the durable state of the tasks: a completed task stays
// visible here after its Job is gone.
type LifecycleStatus struct {
	// Checking, Cloning, Migrating, Rotating and Initializing name the task that runs; Draining removes the components before
	// it, and Restoring brings them back; Complete, Blocked and AwaitingApproval wait for the user.
	// +optional
	Phase LifecyclePhase `json:"phase,omitempty"`
	// True while the web server's Service leads to the maintenance page.
	// +optional
	MaintenanceActive bool `json:"maintenanceActive,omitempty"`
	// Method by which the checksums below were computed. Without it they come from another operator and are compared by
	// image instead.
	// +optional
	ChecksumScheme string `json:"checksumScheme,omitempty"`
	// Checksums with which the components last ran, by task type: Preflight, Clone, Migrate, Rotate, Init. They outlive the tasks'
	// slots, so that going back to what ran before runs no task. A clone that begins clears them, since it drops the
	// database that they speak of.
	// +optional
	LastCompletedChecksums map[string]string `json:"lastCompletedChecksums,omitempty"`
	// Fingerprint of each task's own inputs when it last completed, by task type. It is what a task that is disabled since
	// contributes to the checksums of those after it, so that disabling one runs none of them again.
	// +optional
	CompletedInputs map[string]string `json:"completedInputs,omitempty"`
	// Time of the clone's cronSchedule that its completedInputs are for. It stands in for a schedule that was removed, so that
	// a clone that is enabled again runs no second time.
	// +optional
	CompletedTick *metav1.Time `json:"completedTick,omitempty"`
	// Image that the metastore was last migrated for, as repository:tag, until all tasks are complete for it. An older image
	// than this one is a downgrade, also if it is the one in status.lastLifecycleImage.
	// +optional
	MigratedImage string `json:"migratedImage,omitempty"`
	// State of the task preflight.
	// +optional
	Preflight *TaskRefStatus `json:"preflight,omitempty"`
	// State of the task clone.
	// +optional
	Clone *TaskRefStatus `json:"clone,omitempty"`
	// State of the task migrate.
	// +optional
	Migrate *TaskRefStatus `json:"migrate,omitempty"`
	// State of the task rotate.
	// +optional
	Rotate *TaskRefStatus `json:"rotate,omitempty"`
	// State of the task init.
	// +optional
	Init *TaskRefStatus `json:"init,omitempty"`
	// Image change that is not settled.
	// +optional
	Upgrade *UpgradeContext `json:"upgrade,omitempty"`
}

// TaskState is the state of one task.
//
// +kubebuilder:validation:Enum=Pending;Running;Complete;Failed
type TaskState string

// Task states. Failed is for good: no attempt is left.
const (
	// Waits for its turn, or for the next attempt.
	TaskPending TaskState = "Pending"
	// Has a Job.
	TaskRunning TaskState = "Running"
	// Done.
	TaskComplete TaskState = "Complete"
	// No attempt is left.
	TaskFailed TaskState = "Failed"
)

// TaskRefStatus is the state of one task.
type TaskRefStatus struct {
	// Pending waits for its turn or for the next attempt, Running has a Job, Complete is done, Failed has no attempt left.
	// +optional
	State TaskState `json:"state,omitempty"`
	// Kind and name of the Job, for example "Job/example-migrate".
	// +optional
	Ref string `json:"ref,omitempty"`
	// When the current or last attempt began.
	// +optional
	StartedAt *metav1.Time `json:"startedAt,omitempty"`
	// When the task completed.
	// +optional
	CompletedAt *metav1.Time `json:"completedAt,omitempty"`
	// Attempts that were begun for desiredChecksum.
	// +optional
	Attempts int32 `json:"attempts,omitempty"`
	// Attempts that are allowed in all.
	// +optional
	MaxRetries int32 `json:"maxRetries,omitempty"`
	// Image of the last attempt, as repository:tag.
	// +optional
	Image string `json:"image,omitempty"`
	// Why the last attempt failed, or why it cannot start.
	// +optional
	Message string `json:"message,omitempty"`
	// Exit code of the last failed attempt's main container.
	// +optional
	ExitCode *int32 `json:"exitCode,omitempty"`
	// Last lines that the last failed attempt printed, secrets redacted.
	// +optional
	LogTail string `json:"logTail,omitempty"`
	// Fingerprint of the pod that the last attempt ran in. A task that failed for good is tried again when it changes.
	// +optional
	PodSpecHash string `json:"podSpecHash,omitempty"`
	// When a failed task is tried again.
	// +optional
	NextAttemptAt *metav1.Time `json:"nextAttemptAt,omitempty"`
	// Checksum of everything that makes the task run again.
	// +optional
	DesiredChecksum string `json:"desiredChecksum,omitempty"`
	// The desiredChecksum of the last completion. It is cleared before a Job for another checksum is made, because that Job
	// may change the database.
	// +optional
	CompletedChecksum string `json:"completedChecksum,omitempty"`
	// Stored secrets that the last completed run of preflight or rotate read.
	// +optional
	StoredSecrets *StoredSecretsStatus `json:"storedSecrets,omitempty"`
	// Time of cronSchedule that the last run belongs to.
	// +optional
	LastScheduledAt *metav1.Time `json:"lastScheduledAt,omitempty"`
	// Next time of cronSchedule.
	// +optional
	NextScheduleAt *metav1.Time `json:"nextScheduleAt,omitempty"`
	// TaskComplete: whether the task is complete for desiredChecksum, and if not, why.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// StoredSecretsStatus counts the encrypted values in the metastore: passwords of databases, credentials of SSH tunnels,
// OAuth tokens.
type StoredSecretsStatus struct {
	// Encrypted columns that were read.
	Columns int32 `json:"columns"`
	// Values in them.
	Values int32 `json:"values"`
	// Values that only the previous key decrypts. Reported by preflight.
	// +optional
	PreviousKey int32 `json:"previousKey,omitempty"`
	// Values that were encrypted with the new key and read back. Reported by rotate.
	// +optional
	Reencrypted int32 `json:"reencrypted,omitempty"`
}

// UpgradeDirection compares two versions.
//
// +kubebuilder:validation:Enum=Upgrade;Downgrade;Rebuild;Unknown
type UpgradeDirection string

// Upgrade directions. Rebuild is another image of the same version.
const (
	// To a newer version.
	DirectionUpgrade UpgradeDirection = "Upgrade"
	// To an older version.
	DirectionDowngrade UpgradeDirection = "Downgrade"
	// Another image of the same version.
	DirectionRebuild UpgradeDirection = "Rebuild"
	// The tags cannot be ordered.
	DirectionUnknown UpgradeDirection = "Unknown"
)

// UpgradeContext describes an image change that is not settled.
type UpgradeContext struct {
	// Tag of the image that the tasks last completed for.
	// +optional
	FromVersion string `json:"fromVersion,omitempty"`
	// Tag of the image that is asked for.
	// +optional
	ToVersion string `json:"toVersion,omitempty"`
	// How the versions compare: Upgrade, Downgrade, Rebuild for the same version, Unknown when they cannot be ordered.
	// +optional
	Direction UpgradeDirection `json:"direction,omitempty"`
	// What the annotation superset.apache.org/approve-upgrade must hold to approve this change and no other; for a
	// downgrade, superset.apache.org/approve-downgrade.
	// +optional
	ApprovalToken string `json:"approvalToken,omitempty"`
	// When the change was approved. Tasks that began go on even if the annotation is removed.
	// +optional
	ApprovedAt *metav1.Time `json:"approvedAt,omitempty"`
	// When the change was first seen.
	// +optional
	StartedAt *metav1.Time `json:"startedAt,omitempty"`
}

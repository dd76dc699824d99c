package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// LifecyclePhase is the state of the tasks.
type LifecyclePhase string

// Lifecycle phases. Restoring lasts from the last task until the components are ready.
const (
	// LifecycleChecking means that the task preflight runs.
	LifecycleChecking LifecyclePhase = "Checking"
	// LifecycleCloning means that the task clone runs.
	LifecycleCloning LifecyclePhase = "Cloning"
	// LifecycleDraining means that components are being removed before a task.
	LifecycleDraining LifecyclePhase = "Draining"
	// LifecycleMigrating means that the task migrate runs.
	LifecycleMigrating LifecyclePhase = "Migrating"
	// LifecycleRotating means that the task rotate runs.
	LifecycleRotating LifecyclePhase = "Rotating"
	// LifecycleInitializing means that the task init runs.
	LifecycleInitializing LifecyclePhase = "Initializing"
	// LifecycleRestoring means that the tasks are complete and a component is not ready yet.
	LifecycleRestoring LifecyclePhase = "Restoring"
	// LifecycleComplete means that the tasks are complete and the components were ready.
	LifecycleComplete LifecyclePhase = "Complete"
	// LifecycleBlocked means that the tasks cannot start until the spec changes or is overridden, or that one failed and
	// no attempt is left.
	LifecycleBlocked LifecyclePhase = "Blocked"
	// LifecycleAwaitingApproval means that the tasks of another image wait for an approval.
	LifecycleAwaitingApproval LifecyclePhase = "AwaitingApproval"
)

// LifecycleStatus is the durable state of the tasks: a completed task remains visible here after its Job is deleted.
type LifecycleStatus struct {
	// phase is the state of the tasks. Checking, Cloning, Migrating, Rotating and Initializing name the task that
	// runs. Draining removes the components before it, Restoring starts them again. Complete, Blocked and
	// AwaitingApproval wait for the user.
	// +optional
	Phase LifecyclePhase `json:"phase,omitempty"`
	// maintenanceActive is true while the web server's Service selects the maintenance page.
	// +optional
	MaintenanceActive bool `json:"maintenanceActive,omitempty"`
	// checksumScheme is the method by which the checksums below were computed. When empty, they come from another
	// operator and are compared by image instead.
	// +optional
	ChecksumScheme string `json:"checksumScheme,omitempty"`
	// lastCompletedChecksums are the checksums with which the components last ran, by task type: Preflight, Clone,
	// Migrate, Rotate, Init. They outlive the status of the tasks, so that reverting to what ran before runs no task.
	// A clone that starts clears them, because it drops the database that they describe. PreflightKeys and
	// PreflightSettings are the secret keys, and all inputs except the image, that the preflight accepted last.
	// +optional
	LastCompletedChecksums map[string]string `json:"lastCompletedChecksums,omitempty"`
	// completedInputs are the fingerprints of each task's own inputs when it last completed, by task type. A task that
	// was disabled since contributes its fingerprint to the checksums of the tasks after it, so that disabling a task
	// does not run them again.
	// +optional
	CompletedInputs map[string]string `json:"completedInputs,omitempty"`
	// completedTick is the scheduled time of the clone that its completedInputs belong to. It replaces a schedule that
	// was removed, so that a clone that is enabled again does not run twice.
	// +optional
	CompletedTick *metav1.Time `json:"completedTick,omitempty"`
	// migratedImage is the image that the metastore was last migrated for, as repository:tag, until all tasks are
	// complete for it. An older image than this one is a downgrade, even if it is the one in
	// status.lastLifecycleImage.
	// +optional
	MigratedImage string `json:"migratedImage,omitempty"`
	// metastoreChanged is true from the start of the first task that requires a drain until all tasks are complete, also
	// if that task is disabled meanwhile. The components do not start on their former image until then.
	// +optional
	MetastoreChanged bool `json:"metastoreChanged,omitempty"`
	// downtime is the current or last time without components, and its parts.
	// +optional
	Downtime *DowntimeStatus `json:"downtime,omitempty"`
	// preflight is the state of the task preflight.
	// +optional
	Preflight *TaskRefStatus `json:"preflight,omitempty"`
	// clone is the state of the task clone.
	// +optional
	Clone *TaskRefStatus `json:"clone,omitempty"`
	// migrate is the state of the task migrate.
	// +optional
	Migrate *TaskRefStatus `json:"migrate,omitempty"`
	// rotate is the state of the task rotate.
	// +optional
	Rotate *TaskRefStatus `json:"rotate,omitempty"`
	// init is the state of the task init.
	// +optional
	Init *TaskRefStatus `json:"init,omitempty"`
	// upgrade is the image change in progress.
	// +optional
	Upgrade *UpgradeContext `json:"upgrade,omitempty"`
}

// DowntimeStatus is a time in which the components are removed for tasks. Users get the maintenance page, if there is one.
type DowntimeStatus struct {
	// startedAt is when the removal of the components began.
	// +optional
	StartedAt *metav1.Time `json:"startedAt,omitempty"`
	// drainedAt is when all components were removed, and the first task could start. It is empty if the removal was
	// canceled, for example because the image was reverted.
	// +optional
	DrainedAt *metav1.Time `json:"drainedAt,omitempty"`
	// tasksCompletedAt is when all tasks were complete, and the components could start.
	// +optional
	TasksCompletedAt *metav1.Time `json:"tasksCompletedAt,omitempty"`
	// endedAt is when the web server was ready, or, if the spec has no web server, when the tasks were complete.
	// +optional
	EndedAt *metav1.Time `json:"endedAt,omitempty"`
}

// TaskState is the state of one task.
//
// +kubebuilder:validation:Enum=Pending;Running;Complete;Failed
type TaskState string

// Task states.
const (
	// TaskPending means that the task waits for an earlier task or for the next attempt.
	TaskPending TaskState = "Pending"
	// TaskRunning means that the task has a Job.
	TaskRunning TaskState = "Running"
	// TaskComplete means that the task is complete.
	TaskComplete TaskState = "Complete"
	// TaskFailed means that no attempt is left.
	TaskFailed TaskState = "Failed"
)

// TaskRefStatus is the state of one task.
type TaskRefStatus struct {
	// state is the state of the task. Pending waits for an earlier task or for the next attempt, Running has a Job,
	// Complete is done, Failed has no attempt left.
	// +optional
	State TaskState `json:"state,omitempty"`
	// ref is the kind and name of the Job, for example "Job/example-migrate".
	// +optional
	Ref string `json:"ref,omitempty"`
	// startedAt is when the current or last attempt started.
	// +optional
	StartedAt *metav1.Time `json:"startedAt,omitempty"`
	// completedAt is when the task completed.
	// +optional
	CompletedAt *metav1.Time `json:"completedAt,omitempty"`
	// attempts is the number of attempts that started for desiredChecksum.
	// +optional
	Attempts int32 `json:"attempts,omitempty"`
	// maxRetries is the total number of attempts that are allowed.
	// +optional
	MaxRetries int32 `json:"maxRetries,omitempty"`
	// image is the image of the last attempt, as repository:tag.
	// +optional
	Image string `json:"image,omitempty"`
	// message states why the last attempt failed, or why it cannot start.
	// +optional
	Message string `json:"message,omitempty"`
	// exitCode is the exit code of the main container in the last failed attempt.
	// +optional
	ExitCode *int32 `json:"exitCode,omitempty"`
	// logTail contains the last lines that the last failed attempt printed, with secrets redacted.
	// +optional
	LogTail string `json:"logTail,omitempty"`
	// podSpecHash is the fingerprint of the pod of the last attempt. A task that failed permanently is retried when it
	// changes.
	// +optional
	PodSpecHash string `json:"podSpecHash,omitempty"`
	// nextAttemptAt is when a failed task is retried.
	// +optional
	NextAttemptAt *metav1.Time `json:"nextAttemptAt,omitempty"`
	// desiredChecksum is the checksum of everything whose change runs the task again.
	// +optional
	DesiredChecksum string `json:"desiredChecksum,omitempty"`
	// completedChecksum is the desiredChecksum of the last completion. It is cleared before a Job for another checksum
	// is created, because that Job can change the database.
	// +optional
	CompletedChecksum string `json:"completedChecksum,omitempty"`
	// storedSecrets counts the stored secrets that the last completed run of preflight or rotate read.
	// +optional
	StoredSecrets *StoredSecretsStatus `json:"storedSecrets,omitempty"`
	// lastScheduledAt is the scheduled time of cronSchedule that the last run belongs to.
	// +optional
	LastScheduledAt *metav1.Time `json:"lastScheduledAt,omitempty"`
	// nextScheduleAt is the next scheduled time of cronSchedule.
	// +optional
	NextScheduleAt *metav1.Time `json:"nextScheduleAt,omitempty"`
	// conditions holds TaskComplete: whether the task is complete for desiredChecksum, and if not, why.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// StoredSecretsStatus counts the encrypted values in the metastore: database passwords, SSH tunnel credentials and
// OAuth tokens.
type StoredSecretsStatus struct {
	// columns is the number of encrypted columns that were read.
	Columns int32 `json:"columns"`
	// values is the number of values in these columns.
	Values int32 `json:"values"`
	// previousKey is the number of values that only the previous key decrypts. It is reported by preflight.
	// +optional
	PreviousKey int32 `json:"previousKey,omitempty"`
	// reencrypted is the number of values that were encrypted with the new key and read back. It is reported by
	// rotate.
	// +optional
	Reencrypted int32 `json:"reencrypted,omitempty"`
}

// UpgradeDirection is the relation of two versions.
//
// +kubebuilder:validation:Enum=Upgrade;Downgrade;Rebuild;Unknown
type UpgradeDirection string

// Upgrade directions. Rebuild is another image of the same version.
const (
	// DirectionUpgrade means a newer version.
	DirectionUpgrade UpgradeDirection = "Upgrade"
	// DirectionDowngrade means an older version.
	DirectionDowngrade UpgradeDirection = "Downgrade"
	// DirectionRebuild means another image of the same version.
	DirectionRebuild UpgradeDirection = "Rebuild"
	// DirectionUnknown means that the tags cannot be ordered.
	DirectionUnknown UpgradeDirection = "Unknown"
)

// UpgradeContext describes an image change in progress.
type UpgradeContext struct {
	// fromVersion is the tag of the image that the tasks last completed for.
	// +optional
	FromVersion string `json:"fromVersion,omitempty"`
	// toVersion is the tag of the desired image.
	// +optional
	ToVersion string `json:"toVersion,omitempty"`
	// direction states how the versions compare: Upgrade, Downgrade, Rebuild for the same version, Unknown when they
	// cannot be ordered.
	// +optional
	Direction UpgradeDirection `json:"direction,omitempty"`
	// approvalToken is the value of the annotation superset.apache.org/approve-upgrade that approves this one change
	// only; for a downgrade, of superset.apache.org/approve-downgrade.
	// +optional
	ApprovalToken string `json:"approvalToken,omitempty"`
	// approvedAt is when the change was approved. Tasks that started continue even if the annotation is removed.
	// +optional
	ApprovedAt *metav1.Time `json:"approvedAt,omitempty"`
	// startedAt is when the change was first observed.
	// +optional
	StartedAt *metav1.Time `json:"startedAt,omitempty"`
}

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// LifecycleSpec configures the tasks that run before the components:
// clone, migrate, rotate, init, in this order.
//
// +kubebuilder:validation:XValidation:rule="!has(self.init) || !has(self.init.command) || size(self.init.command) == 0 || !(has(self.init.adminUser) || has(self.init.loadExamples))",message="lifecycle.init.command is mutually exclusive with adminUser and loadExamples"
type LifecycleSpec struct {
	// UpgradeMode Supervised waits for an approval before the tasks of an image change.
	// +kubebuilder:default=Automatic
	// +kubebuilder:validation:Enum=Automatic;Supervised
	// +optional
	UpgradeMode *UpgradeMode `json:"upgradeMode,omitempty"`
	// Disabled runs no task at all; components start at once.
	// +optional
	Disabled *bool `json:"disabled,omitempty"`
	// Image replaces parts of spec.image for the tasks.
	// +optional
	Image *ImageOverrideSpec `json:"image,omitempty"`
	// PodTemplate is merged over spec.podTemplate for the tasks.
	// +optional
	PodTemplate *PodTemplate `json:"podTemplate,omitempty"`
	// PodRetention says which finished Jobs stay.
	// +optional
	PodRetention *PodRetentionSpec `json:"podRetention,omitempty"`
	// Config is raw Python that is appended after spec.config.
	// +optional
	Config *string `json:"config,omitempty"`
	// BootstrapScript replaces spec.bootstrapScript; empty turns it off.
	// +optional
	BootstrapScript *string `json:"bootstrapScript,omitempty"`
	// SQLAEngineOptions replaces spec.sqlaEngineOptions.
	// +optional
	SQLAEngineOptions *SQLAlchemyEngineOptionsSpec `json:"sqlaEngineOptions,omitempty"`
	// MaintenancePage shows a page while the components are drained.
	// +optional
	MaintenancePage *MaintenancePageSpec `json:"maintenancePage,omitempty"`
	// Clone copies an external database into the metastore.
	// +optional
	Clone *CloneTaskSpec `json:"clone,omitempty"`
	// Migrate migrates the metastore's schema; on when unset.
	// +optional
	Migrate *MigrateTaskSpec `json:"migrate,omitempty"`
	// Rotate re-encrypts stored secrets with a new key.
	// +optional
	Rotate *RotateTaskSpec `json:"rotate,omitempty"`
	// Init creates roles and permissions; on when unset.
	// +optional
	Init *InitTaskSpec `json:"init,omitempty"`
}

// UpgradeMode says whether an image change needs an approval.
type UpgradeMode string

// Upgrade modes.
const (
	UpgradeAutomatic  UpgradeMode = "Automatic"
	UpgradeSupervised UpgradeMode = "Supervised"
)

// BaseTaskSpec is what every task has.
type BaseTaskSpec struct {
	// Command replaces the task's command.
	// +listType=atomic
	// +optional
	Command []string `json:"command,omitempty"`
	// Trigger is opaque; a change runs the task again.
	// +optional
	Trigger string `json:"trigger,omitempty"`
	// RequiresDrain removes the components before the task; true for clone, migrate and rotate when unset.
	// +optional
	RequiresDrain *bool `json:"requiresDrain,omitempty"`
	// Timeout ends an attempt; 5m when unset.
	// +optional
	Timeout *metav1.Duration `json:"timeout,omitempty"`
	// MaxRetries is the total number of attempts.
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=1
	// +optional
	MaxRetries *int32 `json:"maxRetries,omitempty"`
	// Disabled leaves the task out.
	// +optional
	Disabled *bool `json:"disabled,omitempty"`
}

// CloneTaskSpec copies an external database into the metastore, which is dropped first.
type CloneTaskSpec struct {
	BaseTaskSpec `json:",inline"`

	// CronSchedule is a five-field cron expression in UTC; each tick runs the tasks again.
	// +kubebuilder:validation:MinLength=9
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9*/,?-]+(\s+[A-Za-z0-9*/,?-]+){4}$`
	// +optional
	CronSchedule *string `json:"cronSchedule,omitempty"`
	// Source is the database to copy.
	Source CloneSourceSpec `json:"source"`
	// ExcludeTables are left out altogether.
	// +optional
	ExcludeTables []string `json:"excludeTables,omitempty"`
	// ExcludeTableData are copied without their rows.
	// +optional
	ExcludeTableData []string `json:"excludeTableData,omitempty"`
	// PostCloneSQL is run after the copy, one statement each.
	// +optional
	PostCloneSQL []string `json:"postCloneSQL,omitempty"`
	// Image holds the database tools.
	// +optional
	Image *ContainerImageSpec `json:"image,omitempty"`
	// PodTemplate is merged over spec.podTemplate.
	// +optional
	PodTemplate *PodTemplate `json:"podTemplate,omitempty"`
	// PodRetention replaces lifecycle.podRetention.
	// +optional
	PodRetention *PodRetentionSpec `json:"podRetention,omitempty"`
}

// CloneSourceSpec is the database to copy.
//
// +kubebuilder:validation:XValidation:rule="has(self.password) || has(self.passwordFrom)",message="one of clone.source.password and clone.source.passwordFrom is required"
// +kubebuilder:validation:XValidation:rule="!(has(self.password) && has(self.passwordFrom))",message="clone.source.password and clone.source.passwordFrom are mutually exclusive"
type CloneSourceSpec struct {
	// +kubebuilder:default=PostgreSQL
	// +optional
	Type *DatabaseType `json:"type,omitempty"`
	Host string        `json:"host"`
	// +optional
	Port     *int32 `json:"port,omitempty"`
	Database string `json:"database"`
	Username string `json:"username"`
	// Password is inline; Development only.
	// +optional
	Password *string `json:"password,omitempty"`
	// +optional
	PasswordFrom *corev1.SecretKeySelector `json:"passwordFrom,omitempty"`
}

// MigrateTaskSpec is the task that runs superset db upgrade.
type MigrateTaskSpec struct {
	BaseTaskSpec `json:",inline"`
}

// RotateTaskSpec is the task that runs superset re-encrypt-secrets.
type RotateTaskSpec struct {
	BaseTaskSpec `json:",inline"`
}

// InitTaskSpec is the task that runs superset init.
type InitTaskSpec struct {
	BaseTaskSpec `json:",inline"`

	// AdminUser creates an administrator; Development only.
	// +optional
	AdminUser *AdminUserSpec `json:"adminUser,omitempty"`
	// LoadExamples loads Superset's examples; Development only.
	// +optional
	LoadExamples *bool `json:"loadExamples,omitempty"`
}

// AdminUserSpec is the administrator that init creates.
type AdminUserSpec struct {
	// +kubebuilder:default=admin
	// +optional
	Username string `json:"username,omitempty"`
	// +kubebuilder:default=admin
	// +optional
	Password string `json:"password,omitempty"`
	// +kubebuilder:default=Superset
	// +optional
	FirstName string `json:"firstName,omitempty"`
	// +kubebuilder:default=Admin
	// +optional
	LastName string `json:"lastName,omitempty"`
	// +kubebuilder:default="admin@example.com"
	// +optional
	Email string `json:"email,omitempty"`
}

// RetentionPolicy says which finished task Jobs stay.
//
// +kubebuilder:validation:Enum=Delete;Retain;RetainOnFailure
type RetentionPolicy string

// Retention policies.
const (
	RetentionDelete          RetentionPolicy = "Delete"
	RetentionRetain          RetentionPolicy = "Retain"
	RetentionRetainOnFailure RetentionPolicy = "RetainOnFailure"
)

// PodRetentionSpec says which finished task Jobs stay.
type PodRetentionSpec struct {
	// +kubebuilder:default=RetainOnFailure
	// +optional
	Policy RetentionPolicy `json:"policy,omitempty"`
}

// MaintenancePageSpec is the page that users see while the components are drained.
type MaintenancePageSpec struct {
	// +optional
	Title *string `json:"title,omitempty"`
	// +optional
	Message *string `json:"message,omitempty"`
	// Body replaces the whole page.
	// +optional
	Body *string `json:"body,omitempty"`
	// Image serves the page instead of the built-in server.
	// +optional
	Image *ContainerImageSpec `json:"image,omitempty"`
	// +kubebuilder:default=1
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`
	// +optional
	DeploymentTemplate *DeploymentTemplate `json:"deploymentTemplate,omitempty"`
	// +optional
	PodTemplate *PodTemplate `json:"podTemplate,omitempty"`
}

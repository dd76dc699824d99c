package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// LifecycleSpec configures the tasks that run, as Jobs, before the components start or get another image: clone, migrate,
// rotate, init, in this order. A task runs when something it depends on has changed since it last completed, and then so
// do the tasks after it. Components wait until all tasks are complete.
//
// +kubebuilder:validation:XValidation:rule="!has(self.init) || !has(self.init.command) || size(self.init.command) == 0 || !(has(self.init.adminUser) || has(self.init.loadExamples))",message="lifecycle.init.command is mutually exclusive with adminUser and loadExamples"
type LifecycleSpec struct {
	// What happens when the image changes. Automatic begins the tasks at once. Supervised waits, in the phase
	// AwaitingApproval, until the annotation superset.apache.org/approve-upgrade holds the token that
	// status.lifecycle.upgrade.approvalToken names; it approves that one change and no other.
	// +kubebuilder:default=Automatic
	// +kubebuilder:validation:Enum=Automatic;Supervised
	// +optional
	UpgradeMode *UpgradeMode `json:"upgradeMode,omitempty"`
	// Runs no task at all, so that components start at once; false when unset. Somebody else has to migrate the database.
	// +optional
	Disabled *bool `json:"disabled,omitempty"`
	// Replaces parts of spec.image for the tasks migrate, rotate and init.
	// +optional
	Image *ImageOverrideSpec `json:"image,omitempty"`
	// What is added to the pods of the tasks migrate, rotate and init, over spec.podTemplate.
	// +optional
	PodTemplate *PodTemplate `json:"podTemplate,omitempty"`
	// Which Jobs stay after they ended.
	// +optional
	PodRetention *PodRetentionSpec `json:"podRetention,omitempty"`
	// Raw Python for the tasks' superset_config.py, after spec.config.
	// +optional
	Config *string `json:"config,omitempty"`
	// Shell script that is sourced before the tasks' default commands, instead of spec.bootstrapScript; an empty one
	// turns that off.
	// +optional
	BootstrapScript *string `json:"bootstrapScript,omitempty"`
	// Connections to the metadata database during the tasks; replaces spec.sqlaEngineOptions as a whole. Tasks never keep
	// a connection, so only the preset disabled makes a difference.
	// +optional
	SQLAEngineOptions *SQLAlchemyEngineOptionsSpec `json:"sqlaEngineOptions,omitempty"`
	// Shows a page to users while the components are drained, also when it is empty. Without it, the web server's Service
	// leads nowhere for that time.
	// +optional
	MaintenancePage *MaintenancePageSpec `json:"maintenancePage,omitempty"`
	// Checks, before anything is drained and while the components serve, that the secret keys decrypt what is stored. It
	// runs when they change, also when unset.
	// +optional
	Preflight *PreflightSpec `json:"preflight,omitempty"`
	// Copies another database into the metadata database, whose content is lost. Only allowed in the environments
	// Development and Staging.
	// +optional
	Clone *CloneTaskSpec `json:"clone,omitempty"`
	// Brings the schema of the metadata database to the image's version (superset db upgrade). Runs also when unset.
	// +optional
	Migrate *MigrateTaskSpec `json:"migrate,omitempty"`
	// Encrypts stored secrets anew after secretKey changed: passwords of databases, credentials of SSH tunnels, OAuth tokens.
	// Requires previousSecretKey or previousSecretKeyFrom.
	// +optional
	Rotate *RotateTaskSpec `json:"rotate,omitempty"`
	// Creates roles and permissions (superset init). Runs also when unset.
	// +optional
	Init *InitTaskSpec `json:"init,omitempty"`
}

// UpgradeMode says whether an image change needs an approval.
type UpgradeMode string

// Upgrade modes.
const (
	// Begins the tasks of another image at once.
	UpgradeAutomatic UpgradeMode = "Automatic"
	// Waits for an approval first.
	UpgradeSupervised UpgradeMode = "Supervised"
)

// BaseTaskSpec is what every task has.
type BaseTaskSpec struct {
	// Replaces the task's command. The bootstrap script is then not sourced.
	// +listType=atomic
	// +optional
	Command []string `json:"command,omitempty"`
	// Any text. When it changes, the task and all tasks after it run again.
	// +optional
	Trigger string `json:"trigger,omitempty"`
	// Removes the components before the task runs, so that nobody uses the database meanwhile. When unset, true for
	// clone, migrate and rotate, and false for init.
	// +optional
	RequiresDrain *bool `json:"requiresDrain,omitempty"`
	// How long an attempt may take, for example 30m, the time until its pod starts included; 5m when unset, 1s at least.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s')",message="timeout must be a duration such as 90s, 5m or 1h30m, and not negative"
	Timeout *metav1.Duration `json:"timeout,omitempty"`
	// Total number of attempts, the first one included. After a failure the next attempt waits 10 s, then 20 s, 40 s and
	// so on, at most 5 minutes. When none is left the task has failed until something it depends on changes.
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=1
	// +optional
	MaxRetries *int32 `json:"maxRetries,omitempty"`
	// Leaves the task out; false when unset. Switching a task off and on again runs nothing.
	// +optional
	Disabled *bool `json:"disabled,omitempty"`
}

// CloneTaskSpec copies another database into the metadata database, which is dropped first. Both must be of the same
// type unless command is set.
type CloneTaskSpec struct {
	BaseTaskSpec `json:",inline"`

	// When to clone again: a cron expression of five fields (minute, hour, day of month, month, day of week) in UTC, for
	// example "0 3 * * 1". Each time runs the clone and all tasks after it, with a drain. A time that was missed is made
	// up for once.
	// +kubebuilder:validation:MinLength=9
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9*/,?-]+(\s+[A-Za-z0-9*/,?-]+){4}$`
	// +optional
	CronSchedule *string `json:"cronSchedule,omitempty"`
	// Database to copy from.
	Source CloneSourceSpec `json:"source"`
	// Tables that are left out, with their structure.
	// +optional
	ExcludeTables []string `json:"excludeTables,omitempty"`
	// Tables that are copied without their rows.
	// +optional
	ExcludeTableData []string `json:"excludeTableData,omitempty"`
	// SQL that runs in the metadata database after the copy, one statement each, in this order.
	// +optional
	PostCloneSQL []string `json:"postCloneSQL,omitempty"`
	// Image with the database's tools; postgres:17-alpine or mysql:8-alpine, by the type of the source, when unset.
	// +optional
	Image *ContainerImageSpec `json:"image,omitempty"`
	// What is added to the task's pod, over spec.podTemplate. lifecycle.podTemplate has no part in it.
	// +optional
	PodTemplate *PodTemplate `json:"podTemplate,omitempty"`
	// Which Jobs of this task stay after they ended, instead of lifecycle.podRetention.
	// +optional
	PodRetention *PodRetentionSpec `json:"podRetention,omitempty"`
}

// CloneSourceSpec is the database to copy.
//
// +kubebuilder:validation:XValidation:rule="has(self.password) || has(self.passwordFrom)",message="one of clone.source.password and clone.source.passwordFrom is required"
// +kubebuilder:validation:XValidation:rule="!(has(self.password) && has(self.passwordFrom))",message="clone.source.password and clone.source.passwordFrom are mutually exclusive"
type CloneSourceSpec struct {
	// Kind of the database server. It must be that of the metastore unless clone.command is set.
	// +kubebuilder:default=PostgreSQL
	// +optional
	Type *DatabaseType `json:"type,omitempty"`
	// Host name or address of the server.
	Host string `json:"host"`
	// Port of the server; 5432 for PostgreSQL and 3306 for MySQL when unset.
	// +optional
	Port *int32 `json:"port,omitempty"`
	// Name of the database.
	Database string `json:"database"`
	// User to log in as; the right to read is enough.
	Username string `json:"username"`
	// Password, inline. Only allowed in the Development environment.
	// +optional
	Password *string `json:"password,omitempty"`
	// Secret that holds the password.
	// +optional
	PasswordFrom *corev1.SecretKeySelector `json:"passwordFrom,omitempty"`
}

// MigrateTaskSpec is the task that runs superset db upgrade.
type MigrateTaskSpec struct {
	BaseTaskSpec `json:",inline"`
}

// PreflightSpec configures the check that runs before anything is drained for another secret key.
type PreflightSpec struct {
	// How long an attempt may take, for example 30m, the time until its pod starts included; 5m when unset, 1s at least.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s')",message="timeout must be a duration such as 90s, 5m or 1h30m, and not negative"
	Timeout *metav1.Duration `json:"timeout,omitempty"`
	// Leaves the check out; false when unset. A key that does not decrypt what is stored then takes Superset down.
	// +optional
	Disabled *bool `json:"disabled,omitempty"`
}

// RotateTaskSpec is the task that encrypts stored secrets with the new secret key, in one transaction, and reads them back.
type RotateTaskSpec struct {
	BaseTaskSpec `json:",inline"`
}

// InitTaskSpec is the task that runs superset init.
type InitTaskSpec struct {
	BaseTaskSpec `json:",inline"`

	// Creates an administrator. An empty one gets admin as name and password. Only allowed in the Development environment.
	// +optional
	AdminUser *AdminUserSpec `json:"adminUser,omitempty"`
	// Loads Superset's example dashboards and their data. Only allowed in the Development environment.
	// +optional
	LoadExamples *bool `json:"loadExamples,omitempty"`
}

// AdminUserSpec is the administrator that init creates.
type AdminUserSpec struct {
	// Name to log in with.
	// +kubebuilder:default=admin
	// +optional
	Username string `json:"username,omitempty"`
	// Password to log in with.
	// +kubebuilder:default=admin
	// +optional
	Password string `json:"password,omitempty"`
	// First name.
	// +kubebuilder:default=Superset
	// +optional
	FirstName string `json:"firstName,omitempty"`
	// Last name.
	// +kubebuilder:default=Admin
	// +optional
	LastName string `json:"lastName,omitempty"`
	// Address for mail.
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
	// Removes all Jobs.
	RetentionDelete RetentionPolicy = "Delete"
	// Keeps the last Job of each task.
	RetentionRetain RetentionPolicy = "Retain"
	// Keeps only Jobs that failed.
	RetentionRetainOnFailure RetentionPolicy = "RetainOnFailure"
)

// PodRetentionSpec says which finished task Jobs stay.
type PodRetentionSpec struct {
	// Delete removes all Jobs once the tasks are done or one has failed for good, Retain keeps the last Job of each task,
	// RetainOnFailure keeps only those that failed.
	// +kubebuilder:default=RetainOnFailure
	// +optional
	Policy RetentionPolicy `json:"policy,omitempty"`
}

// MaintenancePageSpec is the page that users see while the components are drained. The web server's Service leads to it
// from the moment it is ready until the web server is back; every path is redirected to it. It needs an existing web
// server: a first installation shows none.
type MaintenancePageSpec struct {
	// Title of the page, as text; "Scheduled Maintenance" when unset.
	// +optional
	Title *string `json:"title,omitempty"`
	// Message below the title, as text; line breaks are kept. When unset it says that Superset is being upgraded.
	// +optional
	Message *string `json:"message,omitempty"`
	// Whole HTML document that replaces the page, served as it is.
	// +optional
	Body *string `json:"body,omitempty"`
	// Image that serves the page on the web server's port instead of nginx:alpine. It gets title, message and body, where
	// they are set, in the environment variables SUPERSET_OPERATOR__MAINTENANCE_TITLE, _MESSAGE and _BODY, and no files.
	// +optional
	Image *ContainerImageSpec `json:"image,omitempty"`
	// Number of pods.
	// +kubebuilder:default=1
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`
	// What is added to the page's Deployment. spec.deploymentTemplate has no part in it.
	// +optional
	DeploymentTemplate *DeploymentTemplate `json:"deploymentTemplate,omitempty"`
	// What is added to the page's pods. From spec.podTemplate they take over affinity, tolerations, nodeSelector,
	// hostAliases, podSecurityContext, the priority and runtime classes and the DNS settings.
	// +optional
	PodTemplate *PodTemplate `json:"podTemplate,omitempty"`
}

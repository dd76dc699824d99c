package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// LifecycleSpec configures the tasks that run as Jobs before the components start or get another image: clone,
// migrate, rotate and init, in this order. A task runs when one of its inputs changed since it last completed; then
// all tasks after it run too. Components wait until all tasks are complete.
//
// +kubebuilder:validation:XValidation:rule="!has(self.init) || !has(self.init.command) || size(self.init.command) == 0 || !(has(self.init.adminUser) || has(self.init.loadExamples))",message="lifecycle.init.command is mutually exclusive with adminUser and loadExamples"
type LifecycleSpec struct {
	// upgradeMode defines how an image change proceeds. Automatic starts the tasks at once. Supervised waits, in phase
	// AwaitingApproval, until the annotation superset.apache.org/approve-upgrade contains the token in
	// status.lifecycle.upgrade.approvalToken. The token approves this one change only.
	// +kubebuilder:default=Automatic
	// +kubebuilder:validation:Enum=Automatic;Supervised
	// +optional
	UpgradeMode *UpgradeMode `json:"upgradeMode,omitempty"`
	// disabled turns all tasks off, so that components start at once. Defaults to false. You must then migrate the
	// database by other means.
	// +optional
	Disabled *bool `json:"disabled,omitempty"`
	// image overrides parts of spec.image for the tasks migrate, rotate and init.
	// +optional
	Image *ImageOverrideSpec `json:"image,omitempty"`
	// podTemplate overrides spec.podTemplate for the pods of the tasks preflight, migrate, rotate and init. Its
	// container.command and container.args have no effect: set the command of each task.
	// +optional
	PodTemplate *PodTemplate `json:"podTemplate,omitempty"`
	// podRetention defines which finished Jobs are kept.
	// +optional
	PodRetention *PodRetentionSpec `json:"podRetention,omitempty"`
	// config is raw Python for superset_config.py of the tasks. It is appended to spec.config.
	// +optional
	Config *string `json:"config,omitempty"`
	// bootstrapScript is a shell script that is sourced before the default commands of the tasks. It replaces
	// spec.bootstrapScript; an empty script disables it.
	// +optional
	BootstrapScript *string `json:"bootstrapScript,omitempty"`
	// sqlaEngineOptions configures connections of the tasks to the metadata database. It replaces
	// spec.sqlaEngineOptions as a whole. Tasks never keep a connection, so only the preset disabled has an effect.
	// +optional
	SQLAEngineOptions *SQLAlchemyEngineOptionsSpec `json:"sqlaEngineOptions,omitempty"`
	// maintenancePage enables a page for users while the components are drained; an empty object is enough. Without
	// it, the web server's Service has no endpoints during a drain.
	// +optional
	MaintenancePage *MaintenancePageSpec `json:"maintenancePage,omitempty"`
	// preflight configures the check of another image, secret key, configuration, metadata database or broker. It runs
	// before anything is drained and while the components serve. It also runs when unset.
	// +optional
	Preflight *PreflightSpec `json:"preflight,omitempty"`
	// clone copies another database into the metadata database, whose content is lost. It is only allowed in the
	// environments Development and Staging.
	// +optional
	Clone *CloneTaskSpec `json:"clone,omitempty"`
	// migrate upgrades the schema of the metadata database to the version of the image (superset db upgrade). It also
	// runs when unset.
	// +optional
	Migrate *MigrateTaskSpec `json:"migrate,omitempty"`
	// rotate re-encrypts stored secrets after secretKey changed: database passwords, SSH tunnel credentials and OAuth
	// tokens. It requires previousSecretKey or previousSecretKeyFrom.
	// +optional
	Rotate *RotateTaskSpec `json:"rotate,omitempty"`
	// init creates roles and permissions (superset init). It also runs when unset.
	// +optional
	Init *InitTaskSpec `json:"init,omitempty"`
}

// UpgradeMode defines whether an image change needs an approval.
type UpgradeMode string

// Upgrade modes.
const (
	// UpgradeAutomatic starts the tasks of another image at once.
	UpgradeAutomatic UpgradeMode = "Automatic"
	// UpgradeSupervised waits for an approval first.
	UpgradeSupervised UpgradeMode = "Supervised"
)

// BaseTaskSpec holds the fields that the tasks clone, migrate, rotate and init share.
type BaseTaskSpec struct {
	// command replaces the command of the task. The bootstrap script is then not sourced.
	// +listType=atomic
	// +optional
	Command []string `json:"command,omitempty"`
	// trigger is any text. When it changes, the task and all tasks after it run again.
	// +optional
	Trigger string `json:"trigger,omitempty"`
	// requiresDrain removes the components before the task runs, so that no component uses the database meanwhile.
	// Defaults to true for clone, migrate and rotate, and to false for init.
	// +optional
	RequiresDrain *bool `json:"requiresDrain,omitempty"`
	// timeout is the maximum duration of an attempt, for example 30m, including the time until its pod starts.
	// Defaults to 5m, or to 30m if init loads the examples; the minimum is 1s.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s')",message="timeout must be a duration such as 90s, 5m or 1h30m, and not negative"
	Timeout *metav1.Duration `json:"timeout,omitempty"`
	// maxRetries is the total number of attempts, including the first one. After a failure, the next attempt waits 10
	// s, then 20 s, 40 s and so on, at most 5 minutes. After the last attempt, the task stays failed until one of its
	// inputs changes.
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=1
	// +optional
	MaxRetries *int32 `json:"maxRetries,omitempty"`
	// disabled skips the task. Defaults to false. Disabling a task and enabling it again does not run it.
	// +optional
	Disabled *bool `json:"disabled,omitempty"`
}

// CloneTaskSpec configures the task that copies another database into the metadata database, which is dropped first.
// Both must be of the same type unless command is set.
type CloneTaskSpec struct {
	BaseTaskSpec `json:",inline"`

	// cronSchedule defines when to clone again: a cron expression of five fields (minute, hour, day of month, month,
	// day of week) in UTC, for example "0 3 * * 1". Each scheduled time runs the clone and all tasks after it, with a
	// drain. Missed times are caught up with a single run.
	// +kubebuilder:validation:MinLength=9
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9*/,?-]+(\s+[A-Za-z0-9*/,?-]+){4}$`
	// +optional
	CronSchedule *string `json:"cronSchedule,omitempty"`
	// source is the database to copy.
	Source CloneSourceSpec `json:"source"`
	// excludeTables are tables to skip, including their structure.
	// +optional
	ExcludeTables []string `json:"excludeTables,omitempty"`
	// excludeTableData are tables to copy without their rows.
	// +optional
	ExcludeTableData []string `json:"excludeTableData,omitempty"`
	// postCloneSQL are SQL statements, one per entry, that run in the metadata database after the copy, in this order.
	// +optional
	PostCloneSQL []string `json:"postCloneSQL,omitempty"`
	// image is the image with the database tools. Defaults to postgres:17-alpine or mysql:8.4, depending on the
	// type of the source.
	// +optional
	Image *ContainerImageSpec `json:"image,omitempty"`
	// podTemplate overrides spec.podTemplate for the pod of the task. lifecycle.podTemplate does not apply. Its
	// container.command and container.args have no effect: set command.
	// +optional
	PodTemplate *PodTemplate `json:"podTemplate,omitempty"`
	// podRetention defines which finished Jobs of this task are kept. It overrides lifecycle.podRetention.
	// +optional
	PodRetention *PodRetentionSpec `json:"podRetention,omitempty"`
}

// CloneSourceSpec is the database to copy.
//
// +kubebuilder:validation:XValidation:rule="has(self.password) || has(self.passwordFrom)",message="one of clone.source.password and clone.source.passwordFrom is required"
// +kubebuilder:validation:XValidation:rule="!(has(self.password) && has(self.passwordFrom))",message="clone.source.password and clone.source.passwordFrom are mutually exclusive"
type CloneSourceSpec struct {
	// type is the type of the database server. It must be that of the metastore unless clone.command is set.
	// +kubebuilder:default=PostgreSQL
	// +optional
	Type *DatabaseType `json:"type,omitempty"`
	// host is the host name or address of the server.
	Host string `json:"host"`
	// port is the port of the server. Defaults to 5432 for PostgreSQL and 3306 for MySQL.
	// +optional
	Port *int32 `json:"port,omitempty"`
	// database is the name of the database.
	Database string `json:"database"`
	// username is the user to log in as. Read permission is sufficient.
	Username string `json:"username"`
	// password is the password, inline. It is only allowed in the Development environment.
	// +optional
	Password *string `json:"password,omitempty"`
	// passwordFrom references the Secret that contains the password.
	// +optional
	PasswordFrom *corev1.SecretKeySelector `json:"passwordFrom,omitempty"`
}

// MigrateTaskSpec configures the task that runs superset db upgrade.
type MigrateTaskSpec struct {
	BaseTaskSpec `json:",inline"`
}

// PreflightSpec configures the check that runs before anything is drained: the image contains Superset and the drivers,
// the configuration loads, the metadata database and the broker answer, the database is supported, writable and not of a
// newer release, and the secret keys decrypt the stored secrets. On a first installation migrate starts with these checks.
type PreflightSpec struct {
	// trigger is any text. When it changes, the check runs again, and no other task.
	// +optional
	Trigger string `json:"trigger,omitempty"`
	// timeout is the maximum duration of an attempt, for example 30m, including the time until its pod starts.
	// Defaults to 5m; the minimum is 1s.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s')",message="timeout must be a duration such as 90s, 5m or 1h30m, and not negative"
	Timeout *metav1.Duration `json:"timeout,omitempty"`
	// disabled skips the check, also in migrate. Defaults to false. Without the check, an image without its driver, a
	// database that does not answer, or a key that does not decrypt the stored secrets makes Superset unavailable.
	// +optional
	Disabled *bool `json:"disabled,omitempty"`
}

// RotateTaskSpec configures the task that encrypts stored secrets with the new secret key, in one transaction, and
// reads them back.
type RotateTaskSpec struct {
	BaseTaskSpec `json:",inline"`
}

// InitTaskSpec configures the task that runs superset init.
type InitTaskSpec struct {
	BaseTaskSpec `json:",inline"`

	// adminUser creates an administrator. An empty object sets admin as name and password. It is only allowed in the
	// Development environment.
	// +optional
	AdminUser *AdminUserSpec `json:"adminUser,omitempty"`
	// loadExamples loads the example dashboards of Superset and their data. It is only allowed in the Development
	// environment. It takes minutes.
	// +optional
	LoadExamples *bool `json:"loadExamples,omitempty"`
}

// AdminUserSpec is the administrator that the task init creates.
type AdminUserSpec struct {
	// username is the name to log in with.
	// +kubebuilder:default=admin
	// +optional
	Username string `json:"username,omitempty"`
	// password is the password to log in with.
	// +kubebuilder:default=admin
	// +optional
	Password string `json:"password,omitempty"`
	// firstName is the first name of the administrator.
	// +kubebuilder:default=Superset
	// +optional
	FirstName string `json:"firstName,omitempty"`
	// lastName is the last name of the administrator.
	// +kubebuilder:default=Admin
	// +optional
	LastName string `json:"lastName,omitempty"`
	// email is the email address of the administrator.
	// +kubebuilder:default="admin@example.com"
	// +optional
	Email string `json:"email,omitempty"`
}

// RetentionPolicy defines which finished task Jobs are kept.
//
// +kubebuilder:validation:Enum=Delete;Retain;RetainOnFailure
type RetentionPolicy string

// Retention policies.
const (
	// RetentionDelete removes all Jobs.
	RetentionDelete RetentionPolicy = "Delete"
	// RetentionRetain keeps the last Job of each task.
	RetentionRetain RetentionPolicy = "Retain"
	// RetentionRetainOnFailure keeps only Jobs that failed.
	RetentionRetainOnFailure RetentionPolicy = "RetainOnFailure"
)

// PodRetentionSpec configures which finished task Jobs are kept.
type PodRetentionSpec struct {
	// policy is the retention policy. Delete removes all Jobs once the tasks are complete or one failed permanently,
	// Retain keeps the last Job of each task, RetainOnFailure keeps only those that failed.
	// +kubebuilder:default=RetainOnFailure
	// +optional
	Policy RetentionPolicy `json:"policy,omitempty"`
}

// MaintenancePageSpec configures the page that users see while the components are drained. The web server's Service
// selects it from the moment it is ready until the web server is ready again; every path except /health redirects to it.
// It requires an existing web server: a first installation does not show it.
type MaintenancePageSpec struct {
	// title is the title of the page, as text. Defaults to "Scheduled Maintenance".
	// +optional
	Title *string `json:"title,omitempty"`
	// message is the text below the title; line breaks are kept. The default states that Superset is being upgraded.
	// +optional
	Message *string `json:"message,omitempty"`
	// body is a complete HTML document that replaces the page. It is served unchanged.
	// +optional
	Body *string `json:"body,omitempty"`
	// image is the image that serves the page on the web server's port. Defaults to nginx:alpine. An image without a
	// repository, or named nginx, such as registry.example.org/mirror/nginx, serves the page of the operator. Any other
	// image serves its own page, and so does one for which podTemplate.container sets command or args, or mounts files
	// in /etc/nginx. Such an image gets title, message and body, if set, in the environment variables
	// SUPERSET_OPERATOR__MAINTENANCE_TITLE, _MESSAGE and _BODY, and no files.
	// +optional
	Image *ContainerImageSpec `json:"image,omitempty"`
	// replicas is the number of pods. With 0 there is no page.
	// +kubebuilder:default=1
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`
	// deploymentTemplate configures the Deployment of the page. spec.deploymentTemplate does not apply.
	// +optional
	DeploymentTemplate *DeploymentTemplate `json:"deploymentTemplate,omitempty"`
	// podTemplate configures the pods of the page. They inherit affinity, tolerations, nodeSelector, hostAliases,
	// podSecurityContext, the priority and runtime classes and the DNS settings from spec.podTemplate.
	// +optional
	PodTemplate *PodTemplate `json:"podTemplate,omitempty"`
}

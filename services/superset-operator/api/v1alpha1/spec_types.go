package v1alpha1

import corev1 "k8s.io/api/core/v1"

// SupersetSpec is the desired state of an installation. Templates, replicas and options at the top are defaults that
// components can override. A component is enabled if its field is set, even to an empty object.
//
// +kubebuilder:validation:XValidation:rule="has(self.secretKey) != has(self.secretKeyFrom)",message="exactly one of spec.secretKey and spec.secretKeyFrom must be set"
// +kubebuilder:validation:XValidation:rule="!has(self.secretKey) || (has(self.environment) && self.environment == 'Development')",message="spec.secretKey is only allowed when environment is Development"
// +kubebuilder:validation:XValidation:rule="!has(self.metastore) || !has(self.metastore.uri) || (has(self.environment) && self.environment == 'Development')",message="spec.metastore.uri is only allowed when environment is Development"
// +kubebuilder:validation:XValidation:rule="!has(self.metastore) || !has(self.metastore.password) || (has(self.environment) && self.environment == 'Development')",message="spec.metastore.password is only allowed when environment is Development"
// +kubebuilder:validation:XValidation:rule="!has(self.valkey) || !has(self.valkey.password) || (has(self.environment) && self.environment == 'Development')",message="spec.valkey.password is only allowed when environment is Development"
// +kubebuilder:validation:XValidation:rule="!has(self.lifecycle) || !has(self.lifecycle.init) || !has(self.lifecycle.init.adminUser) || (has(self.environment) && self.environment == 'Development')",message="spec.lifecycle.init.adminUser is only allowed when environment is Development"
// +kubebuilder:validation:XValidation:rule="!has(self.lifecycle) || !has(self.lifecycle.init) || !has(self.lifecycle.init.loadExamples) || (has(self.environment) && self.environment == 'Development')",message="spec.lifecycle.init.loadExamples is only allowed when environment is Development"
// +kubebuilder:validation:XValidation:rule="!has(self.websocketServer) || !has(self.websocketServer.config) || (has(self.environment) && self.environment == 'Development')",message="spec.websocketServer.config is only allowed when environment is Development"
// +kubebuilder:validation:XValidation:rule="!has(self.networking) || !has(self.networking.ingress) || has(self.webServer)",message="spec.networking.ingress requires spec.webServer"
// +kubebuilder:validation:XValidation:rule="!has(self.networking) || !has(self.networking.gateway) || has(self.webServer) || has(self.websocketServer) || has(self.mcpServer) || has(self.celeryFlower)",message="spec.networking.gateway requires a routable service: webServer, websocketServer, mcpServer or celeryFlower"
// +kubebuilder:validation:XValidation:rule="!has(self.monitoring) || !has(self.monitoring.serviceMonitor) || has(self.webServer)",message="spec.monitoring.serviceMonitor requires spec.webServer"
// +kubebuilder:validation:XValidation:rule="!has(self.lifecycle) || !has(self.lifecycle.clone) || (has(self.lifecycle.clone.disabled) && self.lifecycle.clone.disabled) || (has(self.environment) && self.environment in ['Development', 'Staging'])",message="spec.lifecycle.clone is only allowed when environment is Development or Staging"
// +kubebuilder:validation:XValidation:rule="!has(self.lifecycle) || !has(self.lifecycle.clone) || !has(self.lifecycle.clone.source.password) || (has(self.environment) && self.environment == 'Development')",message="spec.lifecycle.clone.source.password is only allowed when environment is Development"
// +kubebuilder:validation:XValidation:rule="!has(self.lifecycle) || !has(self.lifecycle.clone) || (has(self.lifecycle.clone.disabled) && self.lifecycle.clone.disabled) || (has(self.metastore) && has(self.metastore.host))",message="spec.lifecycle.clone requires structured metastore (spec.metastore.host)"
// +kubebuilder:validation:XValidation:rule="!has(self.previousSecretKey) || (has(self.environment) && self.environment == 'Development')",message="spec.previousSecretKey is only allowed when environment is Development"
// +kubebuilder:validation:XValidation:rule="!(has(self.previousSecretKey) && has(self.previousSecretKeyFrom))",message="spec.previousSecretKey and spec.previousSecretKeyFrom are mutually exclusive"
// +kubebuilder:validation:XValidation:rule="!has(self.lifecycle) || !has(self.lifecycle.rotate) || (has(self.lifecycle.rotate.disabled) && self.lifecycle.rotate.disabled) || has(self.previousSecretKey) || has(self.previousSecretKeyFrom)",message="spec.lifecycle.rotate requires spec.previousSecretKey or spec.previousSecretKeyFrom"
// +kubebuilder:validation:XValidation:rule="!has(self.lifecycle) || (has(self.lifecycle.disabled) && self.lifecycle.disabled) || !has(self.lifecycle.clone) || (has(self.lifecycle.clone.disabled) && self.lifecycle.clone.disabled) || (has(self.lifecycle.clone.command) && size(self.lifecycle.clone.command) > 0) || !has(self.metastore) || (has(self.lifecycle.clone.source.type) ? self.lifecycle.clone.source.type : 'PostgreSQL') == (has(self.metastore.type) ? self.metastore.type : 'PostgreSQL')",message="spec.lifecycle.clone.source.type must equal spec.metastore.type unless spec.lifecycle.clone.command is set"
type SupersetSpec struct {
	// image is the base image of all components and tasks.
	Image ImageSpec `json:"image"`
	// deploymentTemplate configures the Deployments of all components.
	// +optional
	DeploymentTemplate *DeploymentTemplate `json:"deploymentTemplate,omitempty"`
	// podTemplate configures the pods of all components and tasks.
	// +optional
	PodTemplate *PodTemplate `json:"podTemplate,omitempty"`
	// replicas is the number of pods of each component that does not set its own. Defaults to 1. celeryBeat always has
	// one.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`
	// autoscaling adds a HorizontalPodAutoscaler to each component that does not set its own, except celeryBeat.
	// +optional
	Autoscaling *AutoscalingSpec `json:"autoscaling,omitempty"`
	// podDisruptionBudget adds a PodDisruptionBudget to each component that does not set its own, except celeryBeat.
	// +optional
	PodDisruptionBudget *PDBSpec `json:"podDisruptionBudget,omitempty"`
	// environment defines how strict the validation of the spec is. Only Development allows inline secrets, an
	// administrator and examples; only Development and Staging allow a clone.
	// +kubebuilder:default=Production
	// +optional
	Environment Environment `json:"environment,omitempty"`

	// secretKey is the key with which Superset signs sessions and encrypts stored secrets, inline. It is only allowed
	// in the Development environment. Exactly one of secretKey and secretKeyFrom must be set.
	// +optional
	SecretKey *string `json:"secretKey,omitempty"`
	// secretKeyFrom references the Secret that contains the key with which Superset signs sessions and encrypts stored
	// secrets.
	// +optional
	SecretKeyFrom *corev1.SecretKeySelector `json:"secretKeyFrom,omitempty"`
	// previousSecretKey is the key that was used before the current one, inline; the task rotate requires it. It is
	// only allowed in the Development environment.
	// +optional
	PreviousSecretKey *string `json:"previousSecretKey,omitempty"`
	// previousSecretKeyFrom references the Secret that contains the key that was used before the current one; the task
	// rotate requires it.
	// +optional
	PreviousSecretKeyFrom *corev1.SecretKeySelector `json:"previousSecretKeyFrom,omitempty"`

	// metastore is Superset's metadata database. When unset, config must configure it.
	// +optional
	Metastore *MetastoreSpec `json:"metastore,omitempty"`
	// valkey is the Valkey or Redis server for caches, Celery and the results of asynchronous queries. Installations that
	// share a server need different databases for celeryBroker, celeryResultBackend and distributedCoordination.
	// +optional
	Valkey *ValkeySpec `json:"valkey,omitempty"`
	// config is raw Python for superset_config.py of all components and tasks. It is appended to the settings of the
	// operator; the config of a component is appended to it.
	// +optional
	Config *string `json:"config,omitempty"`
	// bootstrapScript is a shell script that is sourced before the default commands of all components and tasks, for
	// example to install drivers.
	// +optional
	BootstrapScript *string `json:"bootstrapScript,omitempty"`
	// featureFlags are Superset's feature flags (FEATURE_FLAGS), by name.
	// +optional
	FeatureFlags map[string]bool `json:"featureFlags,omitempty"`
	// sqlaEngineOptions configures connections of the components to the metadata database.
	// +optional
	SQLAEngineOptions *SQLAlchemyEngineOptionsSpec `json:"sqlaEngineOptions,omitempty"`

	// webServer enables the web server.
	// +optional
	WebServer *WebServerSpec `json:"webServer,omitempty"`
	// celeryWorker enables the Celery worker, which runs asynchronous queries, reports and thumbnails. It requires a
	// broker: see valkey.
	// +optional
	CeleryWorker *CeleryWorkerSpec `json:"celeryWorker,omitempty"`
	// celeryBeat enables the Celery scheduler, which always has one pod.
	// +optional
	CeleryBeat *CeleryBeatSpec `json:"celeryBeat,omitempty"`
	// celeryFlower enables Flower, the monitor of Celery.
	// +optional
	CeleryFlower *CeleryFlowerSpec `json:"celeryFlower,omitempty"`
	// websocketServer enables the websocket server for asynchronous queries. It requires its own image.
	// +optional
	WebsocketServer *WebsocketServerSpec `json:"websocketServer,omitempty"`
	// mcpServer enables the MCP server, through which language models use Superset.
	// +optional
	MCPServer *MCPServerSpec `json:"mcpServer,omitempty"`

	// lifecycle configures the tasks that run before the components start or get another image. When unset, migrate
	// and init run with their defaults.
	// +optional
	Lifecycle *LifecycleSpec `json:"lifecycle,omitempty"`
	// networking exposes the components outside the cluster.
	// +optional
	Networking *NetworkingSpec `json:"networking,omitempty"`
	// monitoring configures the scraping of the web server by Prometheus.
	// +optional
	Monitoring *MonitoringSpec `json:"monitoring,omitempty"`
	// networkPolicy adds one NetworkPolicy for each enabled component; an empty object is enough.
	// +optional
	NetworkPolicy *NetworkPolicySpec `json:"networkPolicy,omitempty"`
	// serviceAccount configures the ServiceAccount of all pods.
	// +optional
	ServiceAccount *ServiceAccountSpec `json:"serviceAccount,omitempty"`

	// suspend pauses all changes: no task starts, and nothing is created, updated or deleted. The status is still
	// updated.
	// +optional
	Suspend *bool `json:"suspend,omitempty"`
	// forceReload is any text. When it changes, all pods are replaced, for example because the content of a Secret
	// changed, which the operator does not watch.
	// +optional
	ForceReload string `json:"forceReload,omitempty"`
}

// ImageSpec is the base image of all components and tasks.
type ImageSpec struct {
	// repository is the repository of the image, without a tag.
	// +kubebuilder:default="apachesuperset.docker.scarf.sh/apache/superset"
	// +optional
	Repository string `json:"repository,omitempty"`
	// tag is the tag of the image, for example "6.0.0". A change of the tag is an upgrade: the lifecycle tasks run
	// before the components get the new image.
	// +kubebuilder:validation:MinLength=1
	Tag string `json:"tag"`
	// pullPolicy defines when nodes pull the image: Always, IfNotPresent or Never.
	// +kubebuilder:default=IfNotPresent
	// +optional
	PullPolicy corev1.PullPolicy `json:"pullPolicy,omitempty"`
	// pullSecrets reference Secrets with the registry credentials. All pods get them, including those of tasks and of
	// the maintenance page.
	// +optional
	PullSecrets []corev1.LocalObjectReference `json:"pullSecrets,omitempty"`
}

// ImageOverrideSpec overrides parts of the base image for one component or for the tasks.
type ImageOverrideSpec struct {
	// tag overrides spec.image.tag.
	// +optional
	Tag *string `json:"tag,omitempty"`
	// repository overrides spec.image.repository.
	// +optional
	Repository *string `json:"repository,omitempty"`
	// pullPolicy overrides spec.image.pullPolicy.
	// +kubebuilder:validation:Enum=Always;IfNotPresent;Never
	// +optional
	PullPolicy *corev1.PullPolicy `json:"pullPolicy,omitempty"`
}

// ContainerImageSpec is an image other than that of Superset. Unset fields keep their defaults.
type ContainerImageSpec struct {
	// repository is the repository of the image, without a tag.
	// +optional
	Repository string `json:"repository,omitempty"`
	// tag is the tag of the image.
	// +optional
	Tag string `json:"tag,omitempty"`
	// pullPolicy defines when nodes pull the image: Always, IfNotPresent or Never.
	// +kubebuilder:default=IfNotPresent
	// +optional
	PullPolicy corev1.PullPolicy `json:"pullPolicy,omitempty"`
	// pullSecrets reference Secrets with the registry credentials, in addition to spec.image.pullSecrets.
	// +optional
	PullSecrets []corev1.LocalObjectReference `json:"pullSecrets,omitempty"`
}

package v1alpha1

import corev1 "k8s.io/api/core/v1"

// SupersetSpec is what the user asks for. Templates, replicas and options at the top are defaults for the components,
// which override them. A component is enabled by being there, also when it is empty.
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
	// Base image of all components and tasks.
	Image ImageSpec `json:"image"`
	// What is added to the Deployments of all components.
	// +optional
	DeploymentTemplate *DeploymentTemplate `json:"deploymentTemplate,omitempty"`
	// What is added to the pods of all components and tasks.
	// +optional
	PodTemplate *PodTemplate `json:"podTemplate,omitempty"`
	// Number of pods of each component that names none itself; 1 when unset. celeryBeat always has one.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`
	// Adds a HorizontalPodAutoscaler to each component that has none itself, but for celeryBeat.
	// +optional
	Autoscaling *AutoscalingSpec `json:"autoscaling,omitempty"`
	// Adds a PodDisruptionBudget to each component that has none itself, but for celeryBeat.
	// +optional
	PodDisruptionBudget *PDBSpec `json:"podDisruptionBudget,omitempty"`
	// How strict the checks of the spec are. Only Development may hold secrets inline, create an administrator and load
	// examples; only Development and Staging may clone.
	// +kubebuilder:default=Production
	// +optional
	Environment Environment `json:"environment,omitempty"`

	// Key with which Superset signs sessions and encrypts stored secrets, inline. Only allowed in the Development
	// environment. Exactly one of secretKey and secretKeyFrom must be set.
	// +optional
	SecretKey *string `json:"secretKey,omitempty"`
	// Secret that holds the key with which Superset signs sessions and encrypts stored secrets.
	// +optional
	SecretKeyFrom *corev1.SecretKeySelector `json:"secretKeyFrom,omitempty"`
	// Key that was used before the current one, inline; the task rotate needs it. Only allowed in the Development
	// environment.
	// +optional
	PreviousSecretKey *string `json:"previousSecretKey,omitempty"`
	// Secret that holds the key that was used before the current one; the task rotate needs it.
	// +optional
	PreviousSecretKeyFrom *corev1.SecretKeySelector `json:"previousSecretKeyFrom,omitempty"`

	// Superset's metadata database. Without it, config has to say where it is.
	// +optional
	Metastore *MetastoreSpec `json:"metastore,omitempty"`
	// Valkey or Redis server for caches, for Celery and for the results of asynchronous queries.
	// +optional
	Valkey *ValkeySpec `json:"valkey,omitempty"`
	// Raw Python for superset_config.py of all components and tasks, after what the operator writes there. A component's
	// own config comes after it.
	// +optional
	Config *string `json:"config,omitempty"`
	// Shell script that is sourced before the default commands of all components and tasks, for example to install
	// drivers.
	// +optional
	BootstrapScript *string `json:"bootstrapScript,omitempty"`
	// Superset's feature flags (FEATURE_FLAGS), by name.
	// +optional
	FeatureFlags map[string]bool `json:"featureFlags,omitempty"`
	// Connections of the components to the metadata database.
	// +optional
	SQLAEngineOptions *SQLAlchemyEngineOptionsSpec `json:"sqlaEngineOptions,omitempty"`

	// Enables the web server.
	// +optional
	WebServer *WebServerSpec `json:"webServer,omitempty"`
	// Enables the Celery worker, which runs asynchronous queries, reports and thumbnails. It needs a broker: see valkey.
	// +optional
	CeleryWorker *CeleryWorkerSpec `json:"celeryWorker,omitempty"`
	// Enables the Celery scheduler, which always has one pod.
	// +optional
	CeleryBeat *CeleryBeatSpec `json:"celeryBeat,omitempty"`
	// Enables Flower, the monitor of Celery.
	// +optional
	CeleryFlower *CeleryFlowerSpec `json:"celeryFlower,omitempty"`
	// Enables the websocket server for asynchronous queries. It needs an image of its own.
	// +optional
	WebsocketServer *WebsocketServerSpec `json:"websocketServer,omitempty"`
	// Enables the MCP server, through which language models use Superset.
	// +optional
	MCPServer *MCPServerSpec `json:"mcpServer,omitempty"`

	// Tasks that run before the components start or get another image. When unset, migrate and init run with their
	// defaults.
	// +optional
	Lifecycle *LifecycleSpec `json:"lifecycle,omitempty"`
	// Makes the components reachable from outside the cluster.
	// +optional
	Networking *NetworkingSpec `json:"networking,omitempty"`
	// Lets a Prometheus watch the web server.
	// +optional
	Monitoring *MonitoringSpec `json:"monitoring,omitempty"`
	// Adds one NetworkPolicy for each enabled component, also when it is empty.
	// +optional
	NetworkPolicy *NetworkPolicySpec `json:"networkPolicy,omitempty"`
	// ServiceAccount under which all pods run.
	// +optional
	ServiceAccount *ServiceAccountSpec `json:"serviceAccount,omitempty"`

	// Changes nothing while true: no task starts, nothing is created, updated or deleted. The status stays fresh.
	// +optional
	Suspend *bool `json:"suspend,omitempty"`
	// Any text. When it changes, all pods are replaced, for example because the content of a Secret changed, which the
	// operator does not see.
	// +optional
	ForceReload string `json:"forceReload,omitempty"`
}

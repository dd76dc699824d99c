package v1alpha1

import corev1 "k8s.io/api/core/v1"

// SupersetSpec is what the user asks for. Top-level templates, replicas and
// options are defaults for the components, which override them.
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
type SupersetSpec struct {
	// Image is the base image of all components and tasks.
	Image ImageSpec `json:"image"`
	// DeploymentTemplate holds defaults for the Deployments of all components.
	// +optional
	DeploymentTemplate *DeploymentTemplate `json:"deploymentTemplate,omitempty"`
	// PodTemplate holds defaults for the pods of all components and tasks.
	// +optional
	PodTemplate *PodTemplate `json:"podTemplate,omitempty"`
	// Replicas is the default for the scalable components; 1 when unset.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`
	// Autoscaling is the default for the scalable components.
	// +optional
	Autoscaling *AutoscalingSpec `json:"autoscaling,omitempty"`
	// PodDisruptionBudget is the default for the scalable components.
	// +optional
	PodDisruptionBudget *PDBSpec `json:"podDisruptionBudget,omitempty"`
	// Environment says how strict the checks are: only Development may carry secrets inline.
	// +kubebuilder:default=Production
	// +optional
	Environment Environment `json:"environment,omitempty"`

	// SecretKey is Superset's session key, inline; Development only.
	// +optional
	SecretKey *string `json:"secretKey,omitempty"`
	// SecretKeyFrom names the Secret that holds Superset's session key.
	// +optional
	SecretKeyFrom *corev1.SecretKeySelector `json:"secretKeyFrom,omitempty"`
	// PreviousSecretKey is the key before the last rotation, inline; Development only.
	// +optional
	PreviousSecretKey *string `json:"previousSecretKey,omitempty"`
	// PreviousSecretKeyFrom names the Secret that holds the key before the last rotation.
	// +optional
	PreviousSecretKeyFrom *corev1.SecretKeySelector `json:"previousSecretKeyFrom,omitempty"`

	// Metastore is Superset's metadata database.
	// +optional
	Metastore *MetastoreSpec `json:"metastore,omitempty"`
	// Valkey is the cache, the Celery broker and the results backend.
	// +optional
	Valkey *ValkeySpec `json:"valkey,omitempty"`
	// Config is raw Python that is appended to superset_config.py of all Python components.
	// +optional
	Config *string `json:"config,omitempty"`
	// BootstrapScript is shell that is sourced before the default commands.
	// +optional
	BootstrapScript *string `json:"bootstrapScript,omitempty"`
	// FeatureFlags becomes FEATURE_FLAGS.
	// +optional
	FeatureFlags map[string]bool `json:"featureFlags,omitempty"`
	// SQLAEngineOptions is the default for the connection pools of the components.
	// +optional
	SQLAEngineOptions *SQLAlchemyEngineOptionsSpec `json:"sqlaEngineOptions,omitempty"`

	// WebServer enables the web server.
	// +optional
	WebServer *WebServerSpec `json:"webServer,omitempty"`
	// CeleryWorker enables the Celery worker.
	// +optional
	CeleryWorker *CeleryWorkerSpec `json:"celeryWorker,omitempty"`
	// CeleryBeat enables the Celery scheduler, always one replica.
	// +optional
	CeleryBeat *CeleryBeatSpec `json:"celeryBeat,omitempty"`
	// CeleryFlower enables Flower, the Celery monitor.
	// +optional
	CeleryFlower *CeleryFlowerSpec `json:"celeryFlower,omitempty"`
	// WebsocketServer enables the websocket server for asynchronous queries.
	// +optional
	WebsocketServer *WebsocketServerSpec `json:"websocketServer,omitempty"`
	// MCPServer enables the MCP server.
	// +optional
	MCPServer *MCPServerSpec `json:"mcpServer,omitempty"`

	// Lifecycle configures the tasks that run before the components; enabled with defaults when unset.
	// +optional
	Lifecycle *LifecycleSpec `json:"lifecycle,omitempty"`
	// Networking exposes the Services to the outside.
	// +optional
	Networking *NetworkingSpec `json:"networking,omitempty"`
	// Monitoring adds a ServiceMonitor.
	// +optional
	Monitoring *MonitoringSpec `json:"monitoring,omitempty"`
	// NetworkPolicy adds one NetworkPolicy per enabled component.
	// +optional
	NetworkPolicy *NetworkPolicySpec `json:"networkPolicy,omitempty"`
	// ServiceAccount configures the account under which all pods run.
	// +optional
	ServiceAccount *ServiceAccountSpec `json:"serviceAccount,omitempty"`

	// Suspend pauses all reconciling; status stays fresh.
	// +optional
	Suspend *bool `json:"suspend,omitempty"`
	// ForceReload is opaque; a change rolls all pods, for example after a Secret's content changed.
	// +optional
	ForceReload string `json:"forceReload,omitempty"`
}

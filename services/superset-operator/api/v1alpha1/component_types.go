package v1alpha1

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// ScalableComponentSpec is what every component but the scheduler has.
type ScalableComponentSpec struct {
	// +optional
	DeploymentTemplate *DeploymentTemplate `json:"deploymentTemplate,omitempty"`
	// +optional
	PodTemplate *PodTemplate `json:"podTemplate,omitempty"`
	// +kubebuilder:validation:Minimum=0
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`
	// +optional
	Autoscaling *AutoscalingSpec `json:"autoscaling,omitempty"`
	// +optional
	PodDisruptionBudget *PDBSpec `json:"podDisruptionBudget,omitempty"`
}

// ComponentSpec is what every component has.
type ComponentSpec struct {
	// Image replaces parts of spec.image.
	// +optional
	Image *ImageOverrideSpec `json:"image,omitempty"`
}

// WebServerSpec is the web server (gunicorn), port 8088.
type WebServerSpec struct {
	ScalableComponentSpec `json:",inline"`
	ComponentSpec         `json:",inline"`

	// Config is raw Python that is appended after spec.config.
	// +optional
	Config *string `json:"config,omitempty"`
	// BootstrapScript replaces spec.bootstrapScript; empty turns it off.
	// +optional
	BootstrapScript *string `json:"bootstrapScript,omitempty"`
	// +optional
	Service *ComponentServiceSpec `json:"service,omitempty"`
	// +optional
	Gunicorn *GunicornSpec `json:"gunicorn,omitempty"`
	// SQLAEngineOptions replaces spec.sqlaEngineOptions.
	// +optional
	SQLAEngineOptions *SQLAlchemyEngineOptionsSpec `json:"sqlaEngineOptions,omitempty"`
}

// CeleryWorkerSpec is the Celery worker.
type CeleryWorkerSpec struct {
	ScalableComponentSpec `json:",inline"`
	ComponentSpec         `json:",inline"`

	// Config is raw Python that is appended after spec.config.
	// +optional
	Config *string `json:"config,omitempty"`
	// BootstrapScript replaces spec.bootstrapScript; empty turns it off.
	// +optional
	BootstrapScript *string `json:"bootstrapScript,omitempty"`
	// +optional
	Celery *CeleryWorkerProcessSpec `json:"celery,omitempty"`
	// SQLAEngineOptions replaces spec.sqlaEngineOptions.
	// +optional
	SQLAEngineOptions *SQLAlchemyEngineOptionsSpec `json:"sqlaEngineOptions,omitempty"`
}

// CeleryBeatSpec is the Celery scheduler: always one replica, never two at a time.
type CeleryBeatSpec struct {
	ComponentSpec `json:",inline"`

	// +optional
	DeploymentTemplate *DeploymentTemplate `json:"deploymentTemplate,omitempty"`
	// +optional
	PodTemplate *PodTemplate `json:"podTemplate,omitempty"`
	// Config is raw Python that is appended after spec.config.
	// +optional
	Config *string `json:"config,omitempty"`
	// BootstrapScript replaces spec.bootstrapScript; empty turns it off.
	// +optional
	BootstrapScript *string `json:"bootstrapScript,omitempty"`
	// SQLAEngineOptions replaces spec.sqlaEngineOptions.
	// +optional
	SQLAEngineOptions *SQLAlchemyEngineOptionsSpec `json:"sqlaEngineOptions,omitempty"`
}

// CeleryFlowerSpec is Flower, the Celery monitor, port 5555.
type CeleryFlowerSpec struct {
	ScalableComponentSpec `json:",inline"`
	ComponentSpec         `json:",inline"`

	// Config is raw Python that is appended after spec.config.
	// +optional
	Config *string `json:"config,omitempty"`
	// BootstrapScript replaces spec.bootstrapScript; empty turns it off.
	// +optional
	BootstrapScript *string `json:"bootstrapScript,omitempty"`
	// +optional
	Service *ComponentServiceSpec `json:"service,omitempty"`
}

// WebsocketServerSpec is the websocket server (Node.js), port 8080.
//
// +kubebuilder:validation:XValidation:rule="has(self.image) && has(self.image.repository) && size(self.image.repository) > 0",message="websocketServer.image.repository is required: the Superset image does not contain the websocket server"
// +kubebuilder:validation:XValidation:rule="!(has(self.config) && has(self.configFrom))",message="websocketServer.config and websocketServer.configFrom are mutually exclusive"
type WebsocketServerSpec struct {
	ScalableComponentSpec `json:",inline"`
	ComponentSpec         `json:",inline"`

	// Config is the content of config.json, inline; Development only.
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	// +optional
	Config *runtime.RawExtension `json:"config,omitempty"`
	// ConfigFrom names the Secret that holds config.json.
	// +optional
	ConfigFrom *corev1.SecretKeySelector `json:"configFrom,omitempty"`
	// +optional
	Service *ComponentServiceSpec `json:"service,omitempty"`
}

// MCPServerSpec is the MCP server, port 8088.
type MCPServerSpec struct {
	ScalableComponentSpec `json:",inline"`
	ComponentSpec         `json:",inline"`

	// Config is raw Python that is appended after spec.config.
	// +optional
	Config *string `json:"config,omitempty"`
	// BootstrapScript replaces spec.bootstrapScript; empty turns it off.
	// +optional
	BootstrapScript *string `json:"bootstrapScript,omitempty"`
	// +optional
	Service *ComponentServiceSpec `json:"service,omitempty"`
	// SQLAEngineOptions replaces spec.sqlaEngineOptions.
	// +optional
	SQLAEngineOptions *SQLAlchemyEngineOptionsSpec `json:"sqlaEngineOptions,omitempty"`
}

// ComponentServiceSpec configures a component's Service.
//
// +kubebuilder:validation:XValidation:rule="!has(self.nodePort) || (has(self.type) && self.type in ['NodePort', 'LoadBalancer'])",message="service.nodePort requires type NodePort or LoadBalancer"
type ComponentServiceSpec struct {
	// +kubebuilder:default=ClusterIP
	// +kubebuilder:validation:Enum=ClusterIP;NodePort;LoadBalancer
	// +optional
	Type corev1.ServiceType `json:"type,omitempty"`
	// Port is the Service's port; the component's own when unset.
	// +optional
	Port *int32 `json:"port,omitempty"`
	// +kubebuilder:validation:Minimum=30000
	// +kubebuilder:validation:Maximum=32767
	// +optional
	NodePort *int32 `json:"nodePort,omitempty"`
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// GatewayPath is the path prefix under which routes reach the component; ignored for the web server.
	// +kubebuilder:validation:Pattern=`^/[a-zA-Z0-9/_.-]+$`
	// +optional
	GatewayPath *string `json:"gatewayPath,omitempty"`
}

// AutoscalingSpec adds a HorizontalPodAutoscaler.
//
// +kubebuilder:validation:XValidation:rule="!has(self.minReplicas) || self.maxReplicas >= self.minReplicas",message="autoscaling.maxReplicas must be greater than or equal to minReplicas"
type AutoscalingSpec struct {
	// +kubebuilder:validation:Minimum=1
	// +optional
	MinReplicas *int32 `json:"minReplicas,omitempty"`
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	MaxReplicas int32 `json:"maxReplicas"`
	// +optional
	Metrics []autoscalingv2.MetricSpec `json:"metrics,omitempty"`
}

// PDBSpec adds a PodDisruptionBudget.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.minAvailable) && has(self.maxUnavailable))",message="podDisruptionBudget.minAvailable and maxUnavailable are mutually exclusive"
type PDBSpec struct {
	// +optional
	MinAvailable *intstr.IntOrString `json:"minAvailable,omitempty"`
	// +optional
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
}

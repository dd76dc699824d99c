package v1alpha1

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// ScalableComponentSpec is what every component but the scheduler has.
type ScalableComponentSpec struct {
	// What is added to the component's Deployment, over spec.deploymentTemplate.
	// +optional
	DeploymentTemplate *DeploymentTemplate `json:"deploymentTemplate,omitempty"`
	// What is added to the component's pods, over spec.podTemplate.
	// +optional
	PodTemplate *PodTemplate `json:"podTemplate,omitempty"`
	// Number of pods; spec.replicas when unset. It has no effect while there is an autoscaler.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`
	// Lets a HorizontalPodAutoscaler choose the number of pods; replaces spec.autoscaling as a whole.
	// +optional
	Autoscaling *AutoscalingSpec `json:"autoscaling,omitempty"`
	// Limits how many pods may be evicted at the same time; replaces spec.podDisruptionBudget as a whole.
	// +optional
	PodDisruptionBudget *PDBSpec `json:"podDisruptionBudget,omitempty"`
}

// ComponentSpec is what every component has.
type ComponentSpec struct {
	// Replaces parts of spec.image for this component.
	// +optional
	Image *ImageOverrideSpec `json:"image,omitempty"`
}

// WebServerSpec is the web server (gunicorn). It listens on port 8088.
type WebServerSpec struct {
	ScalableComponentSpec `json:",inline"`
	ComponentSpec         `json:",inline"`

	// Raw Python for this component's superset_config.py, after spec.config.
	// +optional
	Config *string `json:"config,omitempty"`
	// Shell script that is sourced before the default command, instead of spec.bootstrapScript; an empty one turns that
	// off.
	// +optional
	BootstrapScript *string `json:"bootstrapScript,omitempty"`
	// Settings of the Service {name}-web-server.
	// +optional
	Service *ComponentServiceSpec `json:"service,omitempty"`
	// Processes and limits of the web server.
	// +optional
	Gunicorn *GunicornSpec `json:"gunicorn,omitempty"`
	// Connections to the metadata database; replaces spec.sqlaEngineOptions as a whole.
	// +optional
	SQLAEngineOptions *SQLAlchemyEngineOptionsSpec `json:"sqlaEngineOptions,omitempty"`
}

// CeleryWorkerSpec is the Celery worker, which runs asynchronous queries, reports and thumbnails.
type CeleryWorkerSpec struct {
	ScalableComponentSpec `json:",inline"`
	ComponentSpec         `json:",inline"`

	// Raw Python for this component's superset_config.py, after spec.config.
	// +optional
	Config *string `json:"config,omitempty"`
	// Shell script that is sourced before the default command, instead of spec.bootstrapScript; an empty one turns that
	// off.
	// +optional
	BootstrapScript *string `json:"bootstrapScript,omitempty"`
	// Processes and limits of the worker.
	// +optional
	Celery *CeleryWorkerProcessSpec `json:"celery,omitempty"`
	// Connections to the metadata database; replaces spec.sqlaEngineOptions as a whole.
	// +optional
	SQLAEngineOptions *SQLAlchemyEngineOptionsSpec `json:"sqlaEngineOptions,omitempty"`
}

// CeleryBeatSpec is the Celery scheduler. It always has one pod, and never two at the same time, which would send every
// report twice.
type CeleryBeatSpec struct {
	ComponentSpec `json:",inline"`

	// What is added to the component's Deployment, over spec.deploymentTemplate.
	// +optional
	DeploymentTemplate *DeploymentTemplate `json:"deploymentTemplate,omitempty"`
	// What is added to the component's pod, over spec.podTemplate.
	// +optional
	PodTemplate *PodTemplate `json:"podTemplate,omitempty"`
	// Raw Python for this component's superset_config.py, after spec.config.
	// +optional
	Config *string `json:"config,omitempty"`
	// Shell script that is sourced before the default command, instead of spec.bootstrapScript; an empty one turns that
	// off.
	// +optional
	BootstrapScript *string `json:"bootstrapScript,omitempty"`
	// Connections to the metadata database; replaces spec.sqlaEngineOptions as a whole.
	// +optional
	SQLAEngineOptions *SQLAlchemyEngineOptionsSpec `json:"sqlaEngineOptions,omitempty"`
}

// CeleryFlowerSpec is Flower, the monitor of Celery. It listens on port 5555 and asks for no password of its own.
type CeleryFlowerSpec struct {
	ScalableComponentSpec `json:",inline"`
	ComponentSpec         `json:",inline"`

	// Raw Python for this component's superset_config.py, after spec.config.
	// +optional
	Config *string `json:"config,omitempty"`
	// Shell script that is sourced before the default command, instead of spec.bootstrapScript; an empty one turns that
	// off.
	// +optional
	BootstrapScript *string `json:"bootstrapScript,omitempty"`
	// Settings of the Service {name}-celery-flower.
	// +optional
	Service *ComponentServiceSpec `json:"service,omitempty"`
}

// WebsocketServerSpec is the websocket server (Node.js), which tells browsers that asynchronous queries are done. It
// listens on port 8080. Superset's image does not contain it, so image.repository has to name one that does.
//
// +kubebuilder:validation:XValidation:rule="has(self.image) && has(self.image.repository) && size(self.image.repository) > 0",message="websocketServer.image.repository is required: the Superset image does not contain the websocket server"
// +kubebuilder:validation:XValidation:rule="!(has(self.config) && has(self.configFrom))",message="websocketServer.config and websocketServer.configFrom are mutually exclusive"
type WebsocketServerSpec struct {
	ScalableComponentSpec `json:",inline"`
	ComponentSpec         `json:",inline"`

	// Content of the server's config.json, inline. Only allowed in the Development environment, since it holds the JWT
	// secret.
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	// +optional
	Config *runtime.RawExtension `json:"config,omitempty"`
	// Secret that holds the server's config.json.
	// +optional
	ConfigFrom *corev1.SecretKeySelector `json:"configFrom,omitempty"`
	// Settings of the Service {name}-websocket-server.
	// +optional
	Service *ComponentServiceSpec `json:"service,omitempty"`
}

// MCPServerSpec is the MCP server, through which language models use Superset. It listens on port 8088.
type MCPServerSpec struct {
	ScalableComponentSpec `json:",inline"`
	ComponentSpec         `json:",inline"`

	// Raw Python for this component's superset_config.py, after spec.config.
	// +optional
	Config *string `json:"config,omitempty"`
	// Shell script that is sourced before the default command, instead of spec.bootstrapScript; an empty one turns that
	// off.
	// +optional
	BootstrapScript *string `json:"bootstrapScript,omitempty"`
	// Settings of the Service {name}-mcp-server.
	// +optional
	Service *ComponentServiceSpec `json:"service,omitempty"`
	// Connections to the metadata database; replaces spec.sqlaEngineOptions as a whole.
	// +optional
	SQLAEngineOptions *SQLAlchemyEngineOptionsSpec `json:"sqlaEngineOptions,omitempty"`
}

// ComponentServiceSpec configures a component's Service.
//
// +kubebuilder:validation:XValidation:rule="!has(self.nodePort) || (has(self.type) && self.type in ['NodePort', 'LoadBalancer'])",message="service.nodePort requires type NodePort or LoadBalancer"
type ComponentServiceSpec struct {
	// How the Service is reached: inside the cluster only, on a port of every node, or through a load balancer.
	// +kubebuilder:default=ClusterIP
	// +kubebuilder:validation:Enum=ClusterIP;NodePort;LoadBalancer
	// +optional
	Type corev1.ServiceType `json:"type,omitempty"`
	// Port of the Service; the port on which the component listens by default when unset.
	// +optional
	Port *int32 `json:"port,omitempty"`
	// Port on every node, for the types NodePort and LoadBalancer; chosen by the cluster when unset.
	// +kubebuilder:validation:Minimum=30000
	// +kubebuilder:validation:Maximum=32767
	// +optional
	NodePort *int32 `json:"nodePort,omitempty"`
	// Annotations of the Service, for example for a cloud's load balancer.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
	// Labels of the Service. The operator's own cannot be overridden.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// Path prefix under which an Ingress or HTTPRoute leads to the component: /ws for the websocket server, /mcp for the
	// MCP server and /flower for Flower when unset. The web server ignores it.
	// +kubebuilder:validation:Pattern=`^/[a-zA-Z0-9/_.-]+$`
	// +optional
	GatewayPath *string `json:"gatewayPath,omitempty"`
}

// AutoscalingSpec adds a HorizontalPodAutoscaler. After a drain or a stop the component comes back with the number of
// pods that the autoscaler had last asked for.
//
// +kubebuilder:validation:XValidation:rule="!has(self.minReplicas) || self.maxReplicas >= self.minReplicas",message="autoscaling.maxReplicas must be greater than or equal to minReplicas"
type AutoscalingSpec struct {
	// Least number of pods; 1 when unset.
	// +kubebuilder:validation:Minimum=1
	// +optional
	MinReplicas *int32 `json:"minReplicas,omitempty"`
	// Greatest number of pods.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	MaxReplicas int32 `json:"maxReplicas"`
	// What the number of pods follows, as in a HorizontalPodAutoscaler (autoscaling/v2); 80 % of the requested CPU when
	// unset, which is the default of Kubernetes.
	// +optional
	Metrics []autoscalingv2.MetricSpec `json:"metrics,omitempty"`
}

// PDBSpec adds a PodDisruptionBudget: how many pods stay while nodes are emptied.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.minAvailable) && has(self.maxUnavailable))",message="podDisruptionBudget.minAvailable and maxUnavailable are mutually exclusive"
type PDBSpec struct {
	// Pods that have to stay, as a number or a percentage.
	// +optional
	MinAvailable *intstr.IntOrString `json:"minAvailable,omitempty"`
	// Pods that may be missing, as a number or a percentage.
	// +optional
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
}

package v1alpha1

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// ScalableComponentSpec holds the fields that all components except celeryBeat share.
type ScalableComponentSpec struct {
	// deploymentTemplate overrides spec.deploymentTemplate for this component.
	// +optional
	DeploymentTemplate *DeploymentTemplate `json:"deploymentTemplate,omitempty"`
	// podTemplate overrides spec.podTemplate for this component.
	// +optional
	PodTemplate *PodTemplate `json:"podTemplate,omitempty"`
	// replicas is the number of pods. Defaults to spec.replicas. It is ignored while an autoscaler is configured.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`
	// autoscaling adds a HorizontalPodAutoscaler, which sets the number of pods. It replaces spec.autoscaling as a
	// whole.
	// +optional
	Autoscaling *AutoscalingSpec `json:"autoscaling,omitempty"`
	// podDisruptionBudget limits how many pods can be evicted at the same time. It replaces spec.podDisruptionBudget
	// as a whole.
	// +optional
	PodDisruptionBudget *PDBSpec `json:"podDisruptionBudget,omitempty"`
}

// ComponentSpec holds the fields that all components share.
type ComponentSpec struct {
	// image overrides parts of spec.image for this component.
	// +optional
	Image *ImageOverrideSpec `json:"image,omitempty"`
}

// WebServerSpec configures the web server (gunicorn), which listens on port 8088.
type WebServerSpec struct {
	ScalableComponentSpec `json:",inline"`
	ComponentSpec         `json:",inline"`

	// config is raw Python for superset_config.py of this component. It is appended to spec.config.
	// +optional
	Config *string `json:"config,omitempty"`
	// bootstrapScript is a shell script that is sourced before the default command. It replaces spec.bootstrapScript;
	// an empty script disables it.
	// +optional
	BootstrapScript *string `json:"bootstrapScript,omitempty"`
	// service configures the Service {name}-web-server.
	// +optional
	Service *ComponentServiceSpec `json:"service,omitempty"`
	// gunicorn sets the processes and limits of the web server.
	// +optional
	Gunicorn *GunicornSpec `json:"gunicorn,omitempty"`
	// sqlaEngineOptions configures connections to the metadata database. It replaces spec.sqlaEngineOptions as a
	// whole.
	// +optional
	SQLAEngineOptions *SQLAlchemyEngineOptionsSpec `json:"sqlaEngineOptions,omitempty"`
}

// CeleryWorkerSpec configures the Celery worker, which runs asynchronous queries, reports and thumbnails.
type CeleryWorkerSpec struct {
	ScalableComponentSpec `json:",inline"`
	ComponentSpec         `json:",inline"`

	// config is raw Python for superset_config.py of this component. It is appended to spec.config.
	// +optional
	Config *string `json:"config,omitempty"`
	// bootstrapScript is a shell script that is sourced before the default command. It replaces spec.bootstrapScript;
	// an empty script disables it.
	// +optional
	BootstrapScript *string `json:"bootstrapScript,omitempty"`
	// celery sets the processes and limits of the worker.
	// +optional
	Celery *CeleryWorkerProcessSpec `json:"celery,omitempty"`
	// sqlaEngineOptions configures connections to the metadata database. It replaces spec.sqlaEngineOptions as a
	// whole.
	// +optional
	SQLAEngineOptions *SQLAlchemyEngineOptionsSpec `json:"sqlaEngineOptions,omitempty"`
}

// CeleryBeatSpec configures the Celery scheduler. It always has one pod: two at the same time would send every report
// twice.
type CeleryBeatSpec struct {
	ComponentSpec `json:",inline"`

	// deploymentTemplate overrides spec.deploymentTemplate for this component.
	// +optional
	DeploymentTemplate *DeploymentTemplate `json:"deploymentTemplate,omitempty"`
	// podTemplate overrides spec.podTemplate for this component.
	// +optional
	PodTemplate *PodTemplate `json:"podTemplate,omitempty"`
	// config is raw Python for superset_config.py of this component. It is appended to spec.config.
	// +optional
	Config *string `json:"config,omitempty"`
	// bootstrapScript is a shell script that is sourced before the default command. It replaces spec.bootstrapScript;
	// an empty script disables it.
	// +optional
	BootstrapScript *string `json:"bootstrapScript,omitempty"`
	// sqlaEngineOptions configures connections to the metadata database. It replaces spec.sqlaEngineOptions as a
	// whole.
	// +optional
	SQLAEngineOptions *SQLAlchemyEngineOptionsSpec `json:"sqlaEngineOptions,omitempty"`
}

// CeleryFlowerSpec configures Flower, the monitor of Celery. It listens on port 5555 and does not authenticate users.
type CeleryFlowerSpec struct {
	ScalableComponentSpec `json:",inline"`
	ComponentSpec         `json:",inline"`

	// config is raw Python for superset_config.py of this component. It is appended to spec.config.
	// +optional
	Config *string `json:"config,omitempty"`
	// bootstrapScript is a shell script that is sourced before the default command. It replaces spec.bootstrapScript;
	// an empty script disables it.
	// +optional
	BootstrapScript *string `json:"bootstrapScript,omitempty"`
	// service configures the Service {name}-celery-flower.
	// +optional
	Service *ComponentServiceSpec `json:"service,omitempty"`
}

// WebsocketServerSpec configures the websocket server (Node.js), which notifies browsers when asynchronous queries
// complete. It listens on port 8080. The Superset image does not contain it, so image.repository must name an image
// that does.
//
// +kubebuilder:validation:XValidation:rule="has(self.image) && has(self.image.repository) && size(self.image.repository) > 0",message="websocketServer.image.repository is required: the Superset image does not contain the websocket server"
// +kubebuilder:validation:XValidation:rule="!(has(self.config) && has(self.configFrom))",message="websocketServer.config and websocketServer.configFrom are mutually exclusive"
type WebsocketServerSpec struct {
	ScalableComponentSpec `json:",inline"`
	ComponentSpec         `json:",inline"`

	// config is the content of the server's config.json, inline. It is only allowed in the Development environment,
	// because it contains the JWT secret.
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	// +optional
	Config *runtime.RawExtension `json:"config,omitempty"`
	// configFrom references the Secret that contains the server's config.json.
	// +optional
	ConfigFrom *corev1.SecretKeySelector `json:"configFrom,omitempty"`
	// service configures the Service {name}-websocket-server.
	// +optional
	Service *ComponentServiceSpec `json:"service,omitempty"`
}

// MCPServerSpec configures the MCP server, through which language models use Superset 6.1 and later. It listens on port 8088,
// and exits unless its config sets MCP_AUTH_ENABLED and a key, or a function MCP_AUTH_FACTORY: see docs/networking.md.
type MCPServerSpec struct {
	ScalableComponentSpec `json:",inline"`
	ComponentSpec         `json:",inline"`

	// config is raw Python for superset_config.py of this component. It is appended to spec.config.
	// +optional
	Config *string `json:"config,omitempty"`
	// bootstrapScript is a shell script that is sourced before the default command. It replaces spec.bootstrapScript;
	// an empty script disables it.
	// +optional
	BootstrapScript *string `json:"bootstrapScript,omitempty"`
	// service configures the Service {name}-mcp-server.
	// +optional
	Service *ComponentServiceSpec `json:"service,omitempty"`
	// sqlaEngineOptions configures connections to the metadata database. It replaces spec.sqlaEngineOptions as a
	// whole.
	// +optional
	SQLAEngineOptions *SQLAlchemyEngineOptionsSpec `json:"sqlaEngineOptions,omitempty"`
}

// ComponentServiceSpec configures the Service of a component.
//
// +kubebuilder:validation:XValidation:rule="!has(self.nodePort) || (has(self.type) && self.type in ['NodePort', 'LoadBalancer'])",message="service.nodePort requires type NodePort or LoadBalancer"
type ComponentServiceSpec struct {
	// type is the type of the Service: ClusterIP for access from inside the cluster only, NodePort for a port of every
	// node, or LoadBalancer.
	// +kubebuilder:default=ClusterIP
	// +kubebuilder:validation:Enum=ClusterIP;NodePort;LoadBalancer
	// +optional
	Type corev1.ServiceType `json:"type,omitempty"`
	// port is the port of the Service. Defaults to the port on which the component listens by default.
	// +optional
	Port *int32 `json:"port,omitempty"`
	// nodePort is the port of every node, for the types NodePort and LoadBalancer. The cluster allocates one when
	// unset.
	// +kubebuilder:validation:Minimum=30000
	// +kubebuilder:validation:Maximum=32767
	// +optional
	NodePort *int32 `json:"nodePort,omitempty"`
	// annotations are the annotations of the Service, for example for a cloud load balancer.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
	// labels are the labels of the Service. Labels of the operator cannot be overridden.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// gatewayPath is the path prefix that an Ingress or HTTPRoute routes to the component. Defaults to /ws for the
	// websocket server, /mcp for the MCP server and /flower for Flower. The web server ignores it.
	// +kubebuilder:validation:Pattern=`^/[a-zA-Z0-9/_.-]+$`
	// +optional
	GatewayPath *string `json:"gatewayPath,omitempty"`
}

// AutoscalingSpec adds a HorizontalPodAutoscaler. After a drain or a stop, the component starts with the number of
// pods that the autoscaler last set.
//
// +kubebuilder:validation:XValidation:rule="!has(self.minReplicas) || self.maxReplicas >= self.minReplicas",message="autoscaling.maxReplicas must be greater than or equal to minReplicas"
type AutoscalingSpec struct {
	// minReplicas is the minimum number of pods. Defaults to 1.
	// +kubebuilder:validation:Minimum=1
	// +optional
	MinReplicas *int32 `json:"minReplicas,omitempty"`
	// maxReplicas is the maximum number of pods.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	MaxReplicas int32 `json:"maxReplicas"`
	// metrics are the metrics that determine the number of pods, as in a HorizontalPodAutoscaler (autoscaling/v2).
	// Defaults to 80 % of the requested CPU, the default of Kubernetes.
	// +optional
	Metrics []autoscalingv2.MetricSpec `json:"metrics,omitempty"`
}

// PDBSpec adds a PodDisruptionBudget, which limits how many pods are evicted while nodes are drained.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.minAvailable) && has(self.maxUnavailable))",message="podDisruptionBudget.minAvailable and maxUnavailable are mutually exclusive"
type PDBSpec struct {
	// minAvailable is the number or percentage of pods that must remain available.
	// +optional
	MinAvailable *intstr.IntOrString `json:"minAvailable,omitempty"`
	// maxUnavailable is the number or percentage of pods that can be unavailable. Defaults to 1 unless minAvailable is set.
	// +optional
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
}

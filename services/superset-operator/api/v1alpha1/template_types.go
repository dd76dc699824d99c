package v1alpha1

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// DeploymentTemplate adds to a Deployment. Single values of a component replace those of spec.deploymentTemplate,
// labels and annotations are merged by key.
type DeploymentTemplate struct {
	// How many old ReplicaSets are kept for rolling back; 10 when unset.
	// +optional
	RevisionHistoryLimit *int32 `json:"revisionHistoryLimit,omitempty"`
	// Seconds for which a new pod has to be ready before it counts as available; 0 when unset.
	// +optional
	MinReadySeconds *int32 `json:"minReadySeconds,omitempty"`
	// Seconds without progress after which a rollout counts as failed and the component as Unavailable; 600 when unset.
	// +optional
	ProgressDeadlineSeconds *int32 `json:"progressDeadlineSeconds,omitempty"`
	// How old pods are replaced by new ones. It has no effect on celeryBeat, whose old pod always ends before the new
	// one starts.
	// +optional
	Strategy *appsv1.DeploymentStrategy `json:"strategy,omitempty"`
	// Labels of the Deployment. The operator's own cannot be overridden.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// Annotations of the Deployment.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}

// PodTemplate adds to the pods of a component or a task. Between the top level and the component, maps and lists of
// named things are merged by key, other lists are appended, and single values are replaced.
type PodTemplate struct {
	// Annotations of the pods. The operator's own cannot be overridden.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
	// Labels of the pods. The operator's own cannot be overridden.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// Which nodes and which neighbours the pods prefer or demand.
	// +optional
	Affinity *corev1.Affinity `json:"affinity,omitempty"`
	// Taints of nodes that the pods accept. Lists are appended.
	// +optional
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
	// Labels that a node must have. Merged by key.
	// +optional
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	// How the pods spread over zones or nodes. Merged by topology key and action.
	// +optional
	TopologySpreadConstraints []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty"`
	// Entries of the pods' /etc/hosts. Merged by address.
	// +optional
	HostAliases []corev1.HostAlias `json:"hostAliases,omitempty"`
	// Security settings of the pods.
	// +optional
	PodSecurityContext *corev1.PodSecurityContext `json:"podSecurityContext,omitempty"`
	// Priority class of the pods.
	// +optional
	PriorityClassName *string `json:"priorityClassName,omitempty"`
	// Volumes of the pods. Merged by name.
	// +optional
	Volumes []corev1.Volume `json:"volumes,omitempty"`
	// Containers that run beside the main one. Merged by name. In a task, one that does not end by itself keeps the task
	// from ending: make it an init container with restartPolicy Always.
	// +optional
	Sidecars []corev1.Container `json:"sidecars,omitempty"`
	// Containers that run before the main one. Merged by name.
	// +optional
	InitContainers []corev1.Container `json:"initContainers,omitempty"`
	// Seconds that a pod has to end by itself; 30 when unset.
	// +optional
	TerminationGracePeriodSeconds *int64 `json:"terminationGracePeriodSeconds,omitempty"`
	// How the pods resolve names; ClusterFirst when unset.
	// +optional
	DNSPolicy *corev1.DNSPolicy `json:"dnsPolicy,omitempty"`
	// Name servers, search domains and options in addition to those of dnsPolicy.
	// +optional
	DNSConfig *corev1.PodDNSConfig `json:"dnsConfig,omitempty"`
	// Runtime class of the pods.
	// +optional
	RuntimeClassName *string `json:"runtimeClassName,omitempty"`
	// Lets the containers of a pod see each other's processes.
	// +optional
	ShareProcessNamespace *bool `json:"shareProcessNamespace,omitempty"`
	// Gives the containers an environment variable for each Service of the namespace; true when unset.
	// +optional
	EnableServiceLinks *bool `json:"enableServiceLinks,omitempty"`
	// Resources of each pod as a whole. They need Kubernetes 1.34.
	// +optional
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`
	// What is added to the main container.
	// +optional
	Container *ContainerTemplate `json:"container,omitempty"`
}

// ContainerTemplate adds to the main container of a component or a task.
type ContainerTemplate struct {
	// Requests and limits of the container.
	// +optional
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`
	// Environment variables. Merged by name; the operator's own, SUPERSET_OPERATOR__ and those of the presets, win.
	// +optional
	Env []corev1.EnvVar `json:"env,omitempty"`
	// ConfigMaps and Secrets whose keys become environment variables. Lists are appended.
	// +optional
	EnvFrom []corev1.EnvFromSource `json:"envFrom,omitempty"`
	// Where volumes are mounted. Merged by mount path.
	// +optional
	VolumeMounts []corev1.VolumeMount `json:"volumeMounts,omitempty"`
	// Ports of the container. Merged by name or number. The first one is where the component listens: its Service,
	// probes and NetworkPolicy follow it.
	// +optional
	Ports []corev1.ContainerPort `json:"ports,omitempty"`
	// Security settings of the container.
	// +optional
	SecurityContext *corev1.SecurityContext `json:"securityContext,omitempty"`
	// Replaces the component's command, with which the bootstrap script is no longer sourced. Only that of the component
	// or the task itself counts, not the one of the top level.
	// +optional
	Command []string `json:"command,omitempty"`
	// Arguments of the command. Only those of the component itself count.
	// +optional
	Args []string `json:"args,omitempty"`
	// Replaces the component's liveness probe.
	// +optional
	LivenessProbe *corev1.Probe `json:"livenessProbe,omitempty"`
	// Replaces the component's readiness probe.
	// +optional
	ReadinessProbe *corev1.Probe `json:"readinessProbe,omitempty"`
	// Replaces the component's startup probe.
	// +optional
	StartupProbe *corev1.Probe `json:"startupProbe,omitempty"`
	// What runs after the container started and before it is stopped.
	// +optional
	Lifecycle *corev1.Lifecycle `json:"lifecycle,omitempty"`
}

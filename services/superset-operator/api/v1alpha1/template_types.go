package v1alpha1

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// DeploymentTemplate configures a Deployment. Single values of a component replace those of spec.deploymentTemplate;
// labels and annotations are merged by key.
type DeploymentTemplate struct {
	// revisionHistoryLimit is the number of old ReplicaSets to keep for a rollback. Defaults to 10.
	// +optional
	RevisionHistoryLimit *int32 `json:"revisionHistoryLimit,omitempty"`
	// minReadySeconds is the number of seconds that a new pod must be ready before it is available. Defaults to 0.
	// +optional
	MinReadySeconds *int32 `json:"minReadySeconds,omitempty"`
	// progressDeadlineSeconds is the number of seconds without progress after which a rollout counts as failed and the
	// component as Unavailable. Defaults to 600.
	// +optional
	ProgressDeadlineSeconds *int32 `json:"progressDeadlineSeconds,omitempty"`
	// strategy defines how new pods replace old ones. It does not affect celeryBeat, whose old pod always terminates
	// before the new one starts.
	// +optional
	Strategy *appsv1.DeploymentStrategy `json:"strategy,omitempty"`
	// labels are the labels of the Deployment. Labels of the operator cannot be overridden.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// annotations are the annotations of the Deployment.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}

// PodTemplate configures the pods of a component or a task. Between the top level and the component, maps and lists
// of named entries are merged by key, other lists are appended, and single values are replaced.
type PodTemplate struct {
	// annotations are the annotations of the pods. Annotations of the operator cannot be overridden.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
	// labels are the labels of the pods. Labels of the operator cannot be overridden.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// affinity selects the nodes and neighboring pods that the pods prefer or require.
	// +optional
	Affinity *corev1.Affinity `json:"affinity,omitempty"`
	// tolerations are the node taints that the pods tolerate. Lists are appended.
	// +optional
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
	// nodeSelector are the labels that a node must have. Merged by key.
	// +optional
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	// topologySpreadConstraints define how the pods spread over zones or nodes. Merged by topology key and action.
	// +optional
	TopologySpreadConstraints []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty"`
	// hostAliases are entries of /etc/hosts in the pods. Merged by address.
	// +optional
	HostAliases []corev1.HostAlias `json:"hostAliases,omitempty"`
	// podSecurityContext holds the security settings of the pods.
	// +optional
	PodSecurityContext *corev1.PodSecurityContext `json:"podSecurityContext,omitempty"`
	// priorityClassName is the priority class of the pods.
	// +optional
	PriorityClassName *string `json:"priorityClassName,omitempty"`
	// volumes are the volumes of the pods. Merged by name.
	// +optional
	Volumes []corev1.Volume `json:"volumes,omitempty"`
	// sidecars are containers that run alongside the main container. Merged by name. A task ends with its main
	// container; a sidecar that still runs is terminated with the Job, at the latest after the timeout of the task.
	// +optional
	Sidecars []corev1.Container `json:"sidecars,omitempty"`
	// initContainers are containers that run before the main container. Merged by name.
	// +optional
	InitContainers []corev1.Container `json:"initContainers,omitempty"`
	// terminationGracePeriodSeconds is the number of seconds that a pod has to terminate. Defaults to 30.
	// +optional
	TerminationGracePeriodSeconds *int64 `json:"terminationGracePeriodSeconds,omitempty"`
	// dnsPolicy defines how the pods resolve names. Defaults to ClusterFirst.
	// +optional
	DNSPolicy *corev1.DNSPolicy `json:"dnsPolicy,omitempty"`
	// dnsConfig holds name servers, search domains and options in addition to those of dnsPolicy.
	// +optional
	DNSConfig *corev1.PodDNSConfig `json:"dnsConfig,omitempty"`
	// runtimeClassName is the runtime class of the pods.
	// +optional
	RuntimeClassName *string `json:"runtimeClassName,omitempty"`
	// shareProcessNamespace makes the processes of a pod visible to all of its containers.
	// +optional
	ShareProcessNamespace *bool `json:"shareProcessNamespace,omitempty"`
	// enableServiceLinks adds an environment variable for each Service of the namespace. Defaults to true.
	// +optional
	EnableServiceLinks *bool `json:"enableServiceLinks,omitempty"`
	// resources are the requests and limits of each pod as a whole. They require Kubernetes 1.34.
	// +optional
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`
	// container configures the main container.
	// +optional
	Container *ContainerTemplate `json:"container,omitempty"`
}

// ContainerTemplate configures the main container of a component or a task.
type ContainerTemplate struct {
	// resources are the requests and limits of the container.
	// +optional
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`
	// env are environment variables. Merged by name; those of the operator (SUPERSET_OPERATOR__) and of the presets
	// take precedence.
	// +optional
	Env []corev1.EnvVar `json:"env,omitempty"`
	// envFrom are ConfigMaps and Secrets whose keys become environment variables. Lists are appended.
	// +optional
	EnvFrom []corev1.EnvFromSource `json:"envFrom,omitempty"`
	// volumeMounts define where volumes are mounted. Merged by mount path.
	// +optional
	VolumeMounts []corev1.VolumeMount `json:"volumeMounts,omitempty"`
	// ports are the ports of the container. Merged by name or number. The component listens on the first one: its
	// Service, probes and NetworkPolicy use it.
	// +optional
	Ports []corev1.ContainerPort `json:"ports,omitempty"`
	// securityContext holds the security settings of the container.
	// +optional
	SecurityContext *corev1.SecurityContext `json:"securityContext,omitempty"`
	// command replaces the command of the component; the bootstrap script is then not sourced. It is only read from
	// the component itself, not from the top level. It has no effect in tasks: set lifecycle.<task>.command instead.
	// +optional
	Command []string `json:"command,omitempty"`
	// args are the arguments of the command. They are only read from the component itself. They have no effect in tasks.
	// +optional
	Args []string `json:"args,omitempty"`
	// livenessProbe replaces the liveness probe of the component.
	// +optional
	LivenessProbe *corev1.Probe `json:"livenessProbe,omitempty"`
	// readinessProbe replaces the readiness probe of the component.
	// +optional
	ReadinessProbe *corev1.Probe `json:"readinessProbe,omitempty"`
	// startupProbe replaces the startup probe of the component.
	// +optional
	StartupProbe *corev1.Probe `json:"startupProbe,omitempty"`
	// lifecycle holds hooks that run after the container starts and before it stops.
	// +optional
	Lifecycle *corev1.Lifecycle `json:"lifecycle,omitempty"`
}

package gateway

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/render"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/resolve"
)

// A terminating pod has gracePeriodSeconds in total, and continues serving for drainSeconds of it.
const (
	gracePeriodSeconds = 15
	drainSeconds       = 8
)

const (
	envoyUser    = 101 // the user of the official image
	configDir    = "/etc/envoy"
	volumeConfig = "config"
	volumeTmp    = "tmp"
)

// reservedVolumes and reservedContainers belong to the operator; users' entries of the same name are dropped.
var (
	reservedVolumes    = []string{volumeConfig, volumeTmp}
	reservedContainers = []string{names.ContainerEnvoy, names.ContainerWakeAgent}
)

func deployment(i *v1alpha1.FireboltInstance, meta metav1.ObjectMeta, image string, replicas int32, hash string) *appsv1.Deployment {
	return &appsv1.Deployment{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}, ObjectMeta: meta,
		Spec: appsv1.DeploymentSpec{
			Replicas: new(replicas),
			Selector: &metav1.LabelSelector{MatchLabels: names.ComponentLabels(i.Name, Component)},
			Strategy: appsv1.DeploymentStrategy{ // a pod is deleted only after its replacement is ready
				Type: appsv1.RollingUpdateDeploymentStrategyType,
				RollingUpdate: &appsv1.RollingUpdateDeployment{
					MaxUnavailable: new(intstr.FromInt32(0)), MaxSurge: new(intstr.FromString("25%")),
				},
			},
			Template: podTemplate(i, image, hash),
		},
	}
}

// podTemplate merges the user's template over the operator's defaults, and then sets the fields that only the operator sets.
func podTemplate(i *v1alpha1.FireboltInstance, image, hash string) corev1.PodTemplateSpec {
	var user corev1.PodTemplateSpec
	if t := i.Spec.Gateway.Template; t != nil {
		user = *t.DeepCopy()
	}
	own := primary(user.Spec.Containers)
	reserved := func(c corev1.Container) bool { return slices.Contains(reservedContainers, c.Name) }
	user.Spec.Containers = slices.DeleteFunc(user.Spec.Containers, reserved)
	user.Spec.InitContainers = slices.DeleteFunc(user.Spec.InitContainers, reserved)
	user.Spec.Volumes = slices.DeleteFunc(user.Spec.Volumes, func(v corev1.Volume) bool {
		return slices.Contains(reservedVolumes, v.Name)
	})

	t := resolve.Templates(new(defaults(i.Name)), &user)
	t.Labels = resolve.MergeMaps(t.Labels, names.ComponentLabels(i.Name, Component))
	metav1.SetMetaDataAnnotation(&t.ObjectMeta, names.AnnotationPodConfig, hash)
	t.Spec.TerminationGracePeriodSeconds = new(int64(gracePeriodSeconds))
	t.Spec.AutomountServiceAccountToken = new(false) // the gateway never calls the API server
	t.Spec.EnableServiceLinks = new(false)
	t.Spec.Containers = append([]corev1.Container{container(i, image, own)}, t.Spec.Containers...)
	t.Spec.Volumes = append([]corev1.Volume{
		{Name: volumeConfig, VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: names.GatewayConfig(i.Name)},
			DefaultMode:          new(int32(0o644)),
		}}},
		{Name: volumeTmp, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
	}, t.Spec.Volumes...)
	return t
}

// defaults returns the operator's template, which a user's template may override.
func defaults(instance string) corev1.PodTemplateSpec {
	spread := func(key string) corev1.TopologySpreadConstraint {
		return corev1.TopologySpreadConstraint{
			MaxSkew: 1, TopologyKey: key, WhenUnsatisfiable: corev1.ScheduleAnyway,
			LabelSelector: &metav1.LabelSelector{MatchLabels: names.ComponentLabels(instance, Component)},
			// Pods of the old ReplicaSet do not count during a rollout: the new pods are spread among themselves.
			MatchLabelKeys: []string{appsv1.DefaultDeploymentUniqueLabelKey},
		}
	}
	return corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		ServiceAccountName: names.Gateway(instance),
		SecurityContext:    &corev1.PodSecurityContext{RunAsNonRoot: new(true), SeccompProfile: render.RuntimeDefault()},
		TopologySpreadConstraints: []corev1.TopologySpreadConstraint{
			spread(corev1.LabelHostname), spread(corev1.LabelTopologyZone),
		},
	}}
}

func primary(containers []corev1.Container) corev1.Container {
	for _, c := range containers {
		if c.Name == names.ContainerEnvoy {
			return c
		}
	}
	return corev1.Container{}
}

// container returns the Envoy container. The user sets image, pull policy and resources only.
func container(i *v1alpha1.FireboltInstance, image string, user corev1.Container) corev1.Container {
	c := corev1.Container{
		Name: names.ContainerEnvoy, Image: image, ImagePullPolicy: user.ImagePullPolicy, Resources: user.Resources,
		Ports: []corev1.ContainerPort{
			render.ContainerPort("http", names.PortGateway), render.ContainerPort("metrics", MetricsPort(i)),
		},
		SecurityContext: render.SecurityContext(envoyUser),
		ReadinessProbe:  probe(MetricsPort(i), 3, 2),
		// Slower than a terminating pod, so that its intended health check failures never restart it.
		LivenessProbe: probe(MetricsPort(i), 10, 3),
		Lifecycle: &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{
			Command: []string{"/bin/bash", "-c", drainScript(names.PortEnvoyAdmin, drainSeconds)},
		}}},
		VolumeMounts: []corev1.VolumeMount{
			{Name: volumeConfig, MountPath: configDir, ReadOnly: true}, {Name: volumeTmp, MountPath: "/tmp"},
		},
	}
	if user.Image != "" {
		c.Image = user.Image
	}
	if c.ImagePullPolicy == "" {
		c.ImagePullPolicy = render.DefaultPullPolicy(c.Image)
	}
	if c.Resources.Requests == nil && c.Resources.Limits == nil && c.Resources.Claims == nil {
		c.Resources.Requests = render.Quantities("100m", "128Mi")
	}
	c.Command = []string{"envoy"}
	c.Args = []string{
		"--config-path", configDir + "/" + ConfigFile,
		"--concurrency", fmt.Sprint(workers(c.Resources)),
		// Kubernetes replaces pods; a hot restart would require shared memory and a fixed base id.
		"--disable-hot-restart",
	}
	return c
}

// workers returns the number of Envoy's threads: the CPU limit of the container, or its request, at least 2.
// By default Envoy starts one for each CPU of the node.
func workers(r corev1.ResourceRequirements) int64 {
	cpu, limited := r.Limits[corev1.ResourceCPU]
	if !limited {
		cpu = r.Requests[corev1.ResourceCPU]
	}
	return max(2, cpu.Value()) // Value rounds up
}

func probe(port, period, failures int32) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
			Path: healthPath, Port: intstr.FromInt32(port), Scheme: corev1.URISchemeHTTP,
		}},
		PeriodSeconds: period, TimeoutSeconds: 2, SuccessThreshold: 1, FailureThreshold: failures,
	}
}

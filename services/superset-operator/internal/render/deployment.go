package render

import (
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/component"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/naming"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
)

// Deployment renders a component's Deployment. checksum stands on the pods, so that a change of it rolls them.
func Deployment(c *resolve.Component, checksum string) *appsv1.Deployment {
	template := &c.Deployment
	d := &appsv1.Deployment{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: c.Namespace, Name: c.Name,
			Labels: layered(template.Labels, c.Labels), Annotations: template.Annotations,
		},
		Spec: appsv1.DeploymentSpec{
			Replicas:                &c.Replicas,
			RevisionHistoryLimit:    template.RevisionHistoryLimit,
			ProgressDeadlineSeconds: template.ProgressDeadlineSeconds,
			Selector:                &metav1.LabelSelector{MatchLabels: c.Selector},
			Strategy:                strategy(c),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{
					Labels:      layered(c.Pod.Labels, c.Labels),
					Annotations: layered(c.Pod.Annotations, map[string]string{v1alpha1.AnnotationConfigChecksum: checksum}),
				},
				Spec: podSpec(&c.Workload, container{
					command: componentCommand(c),
					args:    c.Pod.Container.Args,
					env:     environment(&c.Workload, gunicornEnvironment(c.Gunicorn)...),
					ports:   ports(c),
					probes:  componentProbes(c),
				}),
			},
		},
	}
	if template.MinReadySeconds != nil {
		d.Spec.MinReadySeconds = *template.MinReadySeconds
	}
	return d
}

// strategy is the user's, but for the scheduler: two of them at a time would send every report twice.
func strategy(c *resolve.Component) appsv1.DeploymentStrategy {
	if c.Descriptor.Singleton {
		return appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
	}
	if s := c.Deployment.Strategy; s != nil {
		return *s
	}
	return appsv1.DeploymentStrategy{}
}

func ports(c *resolve.Component) []corev1.ContainerPort {
	if user := c.Pod.Container.Ports; len(user) > 0 {
		return user
	}
	if c.Descriptor.Port == 0 {
		return nil
	}
	return []corev1.ContainerPort{{Name: c.Descriptor.PortName, ContainerPort: c.Descriptor.Port, Protocol: corev1.ProtocolTCP}}
}

// componentProbes are the user's, else the component's own at the resolved port.
func componentProbes(c *resolve.Component) probes {
	t := c.Pod.Container
	p := probes{t.LivenessProbe, t.ReadinessProbe, t.StartupProbe}
	if c.Descriptor.Name != component.WebServerName {
		return p
	}
	if p.liveness == nil {
		p.liveness = httpProbe("/health", c.Port(), 15)
	}
	if p.readiness == nil {
		p.readiness = httpProbe("/health", c.Port(), 5)
	}
	if p.startup == nil {
		p.startup = httpProbe("/health", c.Port(), 15)
	}
	return p
}

func httpProbe(path string, port, delay int32) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
			Path: path, Port: intstr.FromInt32(port), Scheme: corev1.URISchemeHTTP,
		}},
		InitialDelaySeconds: delay, PeriodSeconds: 10, TimeoutSeconds: 5, FailureThreshold: 3,
	}
}

// Service renders a component's Service; nil for a component that listens nowhere.
func Service(c *resolve.Component) *corev1.Service {
	if c.Descriptor.Port == 0 {
		return nil
	}
	settings := v1alpha1.ComponentServiceSpec{}
	if c.Service != nil {
		settings = *c.Service
	}
	port := corev1.ServicePort{
		Name: "http", Protocol: corev1.ProtocolTCP,
		Port: c.Descriptor.Port, TargetPort: intstr.FromInt32(c.Port()),
	}
	if settings.Port != nil {
		port.Port = *settings.Port
	}
	if settings.NodePort != nil {
		port.NodePort = *settings.NodePort
	}
	kind := settings.Type
	if kind == "" {
		kind = corev1.ServiceTypeClusterIP
	}
	return &corev1.Service{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: c.Namespace, Name: c.Name,
			Labels: layered(settings.Labels, c.Labels), Annotations: settings.Annotations,
		},
		Spec: corev1.ServiceSpec{Type: kind, Selector: c.Selector, Ports: []corev1.ServicePort{port}},
	}
}

// ServiceAccount renders the account under which all pods run.
func ServiceAccount(sup *v1alpha1.Superset, settings *v1alpha1.ServiceAccountSpec) *corev1.ServiceAccount {
	return &corev1.ServiceAccount{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: sup.Namespace, Name: naming.ServiceAccount(sup),
			Labels: naming.Shared(sup.Name), Annotations: settings.Annotations,
		},
	}
}

// layered merges maps, later ones winning.
func layered(layers ...map[string]string) map[string]string {
	out := map[string]string{}
	for _, layer := range layers {
		maps.Copy(out, layer)
	}
	return out
}

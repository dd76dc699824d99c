package resolve

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/component"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/names"
)

func forComponent(sup *v1alpha1.Superset, d component.Descriptor, options Options) Component {
	spec := &sup.Spec
	settings := d.Settings(spec)
	image, policy := overrideImage(&spec.Image, settings.Image)
	c := Component{
		Workload: Workload{
			Superset: sup.Name, Namespace: sup.Namespace, Slug: d.Name,
			Name: names.Component(sup.Name, d.Name), ConfigName: names.Config(sup.Name, d.Name),
			Labels: names.Labels(sup.Name, d.Name), Selector: names.Selector(sup.Name, d.Name),
			ServiceAccount: names.ServiceAccount(sup),
			Image:          image, PullPolicy: policy, PullSecrets: pullSecrets(&spec.Image),
			Pod: podTemplate(spec.PodTemplate, settings.Pod),
		},
		Descriptor: d,
		Deployment: deploymentTemplate(spec.DeploymentTemplate, settings.Deployment),
		Service:    service(settings.Service),
		Path:       d.Route(settings.Service),
		IPv6:       options.IPv6,
	}
	if !d.Singleton {
		c.Autoscaling = first(settings.Autoscaling, spec.Autoscaling)
		c.PodDisruptionBudget = disruptionBudget(first(settings.PodDisruptionBudget, spec.PodDisruptionBudget))
	}
	c.Replicas = replicas(&c, first(settings.Replicas, spec.Replicas), options)
	if d.Python {
		pythonComponent(sup, &c, settings)
	} else {
		c.JSON, c.JSONFrom = document(settings.JSON), settings.JSONFrom
		c.Inputs.ForceReload = spec.ForceReload
	}
	return c
}

// pythonComponent adds the settings of components that run Superset's own code.
func pythonComponent(sup *v1alpha1.Superset, c *Component, settings *component.Settings) {
	spec := &sup.Spec
	c.Bootstrap = orZero(first(settings.BootstrapScript, spec.BootstrapScript))
	c.Inputs = inputs(sup)
	switch c.Descriptor.Name {
	case component.WebServerName:
		c.Gunicorn = gunicorn(settings.Gunicorn)
	case component.CeleryWorkerName:
		c.Celery = celery(settings.Celery)
	}
	c.Python = python(sup, settings.Config)
	c.Python.Pool = componentPool(c, first(settings.SQLAEngineOptions, spec.SQLAEngineOptions))
	switch c.Descriptor.Name {
	case component.WebServerName:
		c.AppRoot = variable(c.Pod.Container.Env, "SUPERSET_APP_ROOT")
		c.Python.WebServerTimeout = orZero(c.Gunicorn).Timeout
	case component.CeleryWorkerName:
		c.Python.Heartbeat = HeartbeatWorker
	case component.CeleryBeatName:
		c.Python.Heartbeat = HeartbeatBeat
	case component.MCPServerName:
		c.Python.MCP = true
	}
}

// variable returns the literal value of a user's variable; empty for none.
func variable(env []corev1.EnvVar, name string) string {
	for i := range env {
		if env[i].Name == name {
			return env[i].Value
		}
	}
	return ""
}

// Port returns the port of the main container: the first one that the user set, or the component's default.
func (c *Component) Port() int32 {
	if ports := c.Pod.Container.Ports; len(ports) > 0 {
		return ports[0].ContainerPort
	}
	return c.Descriptor.Port
}

// replicas returns the desired number of pods. An autoscaled component starts with
// its last count, within its bounds, so that a drain does not reset it.
func replicas(c *Component, configured *int32, options Options) int32 {
	switch {
	case options.Stopped:
		return 0
	case c.Descriptor.Singleton:
		return 1
	case c.Autoscaling == nil:
		return or(configured, 1)
	}
	minReplicas := or(c.Autoscaling.MinReplicas, 1)
	return max(minReplicas, min(options.LastReplicas[c.Slug], c.Autoscaling.MaxReplicas))
}

// service removes reserved labels of the operator.
func service(spec *v1alpha1.ComponentServiceSpec) *v1alpha1.ComponentServiceSpec {
	if spec == nil {
		return nil
	}
	out := *spec
	out.Labels = userLabels(spec.Labels)
	return &out
}

// document returns the text of a JSON document; nil when there is none.
func document(raw *runtime.RawExtension) []byte {
	if raw == nil || len(raw.Raw) == 0 || bytes.Equal(raw.Raw, []byte("null")) {
		return nil
	}
	return raw.Raw
}

// disruptionBudget fills in the default: a budget without any value would allow no eviction at all.
func disruptionBudget(spec *v1alpha1.PDBSpec) *v1alpha1.PDBSpec {
	if spec == nil || spec.MinAvailable != nil || spec.MaxUnavailable != nil {
		return spec
	}
	return &v1alpha1.PDBSpec{MaxUnavailable: new(intstr.FromInt32(1))}
}

func pullSecrets(image *v1alpha1.ImageSpec) []corev1.LocalObjectReference {
	return mergeKeyed(func(s corev1.LocalObjectReference) string { return s.Name }, image.PullSecrets)
}

// overrideImage returns repository:tag and the pull policy.
func overrideImage(base *v1alpha1.ImageSpec, over *v1alpha1.ImageOverrideSpec) (string, corev1.PullPolicy) {
	o := orZero(over)
	repository, tag, policy := base.Repository, base.Tag, base.PullPolicy
	if o.Repository != nil && *o.Repository != "" {
		repository = *o.Repository
	}
	if o.Tag != nil && *o.Tag != "" {
		tag = *o.Tag
	}
	if o.PullPolicy != nil {
		policy = *o.PullPolicy
	}
	return repository + ":" + tag, policy
}

// Web holds the URLs of the web server; the zero value without one.
type Web struct {
	// InternalURL is the URL of the web server for workers, ExternalURL the one for users; empty if unknown.
	InternalURL, ExternalURL string
	// Proxied reports whether requests come through an Ingress or a Gateway, Secure whether these are known to terminate TLS
	// for all hosts.
	Proxied, Secure bool
}

func web(sup *v1alpha1.Superset) Web {
	spec := &sup.Spec
	if spec.WebServer == nil {
		return Web{}
	}
	port := int32(8088)
	if s := spec.WebServer.Service; s != nil && s.Port != nil {
		port = *s.Port
	}
	w := Web{InternalURL: fmt.Sprintf("http://%s:%d/", names.Component(sup.Name, component.WebServerName), port)}
	n := orZero(spec.Networking)
	w.Proxied = n.Gateway != nil || n.Ingress != nil
	host, scheme := "", "http"
	switch {
	case n.Ingress != nil:
		hosts := ingressHosts(n.Ingress)
		host = hosts[0]
		w.Secure = !slices.ContainsFunc(hosts, func(h string) bool { return !terminatesTLS(n.Ingress, h) })
		if terminatesTLS(n.Ingress, host) {
			scheme = "https"
		}
	case n.Gateway != nil && len(n.Gateway.Hostnames) > 0:
		// The Gateway, which may be foreign, defines whether it terminates TLS; links without TLS would be redirected.
		host, scheme = string(n.Gateway.Hostnames[0]), "https"
	}
	if host != "" && host[0] != '*' {
		w.ExternalURL = scheme + "://" + host + "/"
	}
	return w
}

// ingressHosts returns the hosts of the Ingress, at least one; an empty one matches all hosts.
func ingressHosts(spec *v1alpha1.IngressSpec) []string {
	if len(spec.Hosts) == 0 {
		return []string{spec.Host}
	}
	hosts := make([]string, len(spec.Hosts))
	for i := range spec.Hosts {
		hosts[i] = spec.Hosts[i].Host
	}
	return hosts
}

// terminatesTLS reports whether the Ingress has a certificate for the host. An entry without hosts applies to all hosts, a
// wildcard replaces the first label.
func terminatesTLS(spec *v1alpha1.IngressSpec, host string) bool {
	_, parent, _ := strings.Cut(host, ".")
	for _, entry := range spec.TLS {
		if len(entry.Hosts) == 0 || slices.Contains(entry.Hosts, host) || parent != "" && slices.Contains(entry.Hosts, "*."+parent) {
			return true
		}
	}
	return false
}

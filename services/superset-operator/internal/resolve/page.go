package resolve

import (
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/component"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/names"
)

// The default image of the page, also for each part of the image that the user omits, and the directory from which it
// reads its configuration.
const (
	pageRepository = "nginx"
	pageTag        = "alpine"
	pageConfig     = "/etc/nginx"
)

// Page is the maintenance page with all precedence resolved.
type Page struct {
	// Workload has no Python, Bootstrap or Inputs, since the page does not run Superset.
	Workload
	Deployment v1alpha1.DeploymentTemplate
	Replicas   int32
	// Port is the web server's port, on which the page listens instead.
	Port int32
	// IPv6 reports whether the page listens on IPv6 too.
	IPv6 bool
	// Custom reports whether the user's image serves a page of its own; such a page gets no files from the operator.
	Custom bool
	// Title, Message and Body are nil if the user sets none.
	Title, Message, Body *string
}

// MaintenancePage resolves the page; nil if it is not enabled or has no pods, or if
// there is no web server that it could replace.
func MaintenancePage(sup *v1alpha1.Superset) *Page {
	settings := orZero(sup.Spec.Lifecycle).MaintenancePage
	web := sup.Spec.WebServer
	if settings == nil || web == nil || or(settings.Replicas, 1) == 0 {
		return nil
	}
	image := orZero(settings.Image)
	page := &Page{
		Workload: Workload{
			Superset: sup.Name, Namespace: sup.Namespace, Slug: names.MaintenancePage,
			Name: names.Component(sup.Name, names.MaintenancePage), ConfigName: names.Config(sup.Name, names.MaintenancePage),
			Labels: names.Labels(sup.Name, names.MaintenancePage), Selector: names.Selector(sup.Name, names.MaintenancePage),
			ServiceAccount: names.ServiceAccount(sup),
			Image:          pageImage(&image), PullPolicy: corev1.PullIfNotPresent,
			PullSecrets: mergeKeyed(secretName, sup.Spec.Image.PullSecrets, image.PullSecrets),
			Pod:         podTemplate(placement(sup.Spec.PodTemplate), settings.PodTemplate),
		},
		Deployment: deploymentTemplate(nil, settings.DeploymentTemplate),
		Replicas:   or(settings.Replicas, 1),
		Port:       webPort(&sup.Spec),
		Custom:     settings.Image != nil && (!isNginx(settings.Image) || configuresServer(settings.PodTemplate)),
		Title:      settings.Title, Message: settings.Message, Body: settings.Body,
	}
	if image.PullPolicy != "" {
		page.PullPolicy = image.PullPolicy
	}
	return page
}

// placement returns what the page inherits from the top level: where its pods may run,
// and how they reach the network. Settings of Superset's own containers, such as
// volumes, sidecars and variables, do not apply to a server of static files.
func placement(top *v1alpha1.PodTemplate) *v1alpha1.PodTemplate {
	t := orZero(top)
	return &v1alpha1.PodTemplate{
		Affinity: t.Affinity, Tolerations: t.Tolerations, NodeSelector: t.NodeSelector,
		PodSecurityContext: t.PodSecurityContext,
		PriorityClassName:  t.PriorityClassName, RuntimeClassName: t.RuntimeClassName,
		HostAliases: t.HostAliases, DNSPolicy: t.DNSPolicy, DNSConfig: t.DNSConfig,
	}
}

// webPort returns the web server's port.
func webPort(spec *v1alpha1.SupersetSpec) int32 {
	for _, d := range component.Enabled(spec) {
		if d.Name == component.WebServerName {
			c := Component{Descriptor: d}
			c.Pod = podTemplate(spec.PodTemplate, d.Settings(spec).Pod)
			return c.Port()
		}
	}
	return 0
}

// pageImage returns repository:tag.
func pageImage(image *v1alpha1.ContainerImageSpec) string {
	repository, tag := image.Repository, image.Tag
	if repository == "" {
		repository = pageRepository
	}
	if tag == "" {
		tag = pageTag
	}
	return repository + ":" + tag
}

// isNginx reports whether an image is the default one, for example in a mirror: a repository with another name may contain
// any server.
func isNginx(image *v1alpha1.ContainerImageSpec) bool {
	repository, _, _ := strings.Cut(image.Repository, "@")
	return repository == "" || path.Base(repository) == pageRepository
}

// configuresServer reports whether the user's template runs nginx with other arguments or files.
func configuresServer(template *v1alpha1.PodTemplate) bool {
	c := orZero(orZero(template).Container)
	return len(c.Command)+len(c.Args) > 0 || slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool {
		return strings.HasPrefix(path.Clean(m.MountPath)+"/", pageConfig+"/")
	})
}

func secretName(s corev1.LocalObjectReference) string { return s.Name }

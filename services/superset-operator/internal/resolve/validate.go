package resolve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/component"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/names"
)

// Validate lists the contradictions in the spec, each entry with the field's path, the violation, and the fix. It
// repeats the schema rules that protect data or the whole reconcile, since an object may be older than the schema.
// Entries quote names and numbers only, never secrets.
func Validate(sup *v1alpha1.Superset) []string {
	var p violations
	p.names(sup)
	p.components(&sup.Spec)
	p.page(sup)
	tasks := podTemplate(sup.Spec.PodTemplate, orZero(sup.Spec.Lifecycle).PodTemplate)
	p.environment("spec.lifecycle.podTemplate.container.env", true, sup.Spec.Metastore != nil, &tasks)
	p.metastore(sup.Spec.Metastore)
	p.clone(&sup.Spec)
	_, rejected := ignoredFields(sup)
	p = append(p, rejected...)
	p.valkey(sup.Spec.Valkey)
	if n := sup.Spec.Networking; n != nil && n.Ingress != nil && n.Ingress.Host == "" && len(n.Ingress.Hosts) == 0 {
		p.add("spec.networking.ingress", "has no host, so it would have no rule: set host or hosts")
	}
	return p
}

// InvalidSpecMessage returns the message of a status or condition for a spec with violations.
func InvalidSpecMessage(violations []string) string {
	return "The spec is invalid: " + strings.Join(violations, "; ") + ". Reconciliation is blocked until the spec is fixed."
}

// IgnoredFieldsMessage returns the sentence that a condition adds for fields without effect.
func IgnoredFieldsMessage(fields []string) string {
	return "The spec has fields without effect: " + strings.Join(fields, "; ") + "."
}

type violations []string

func (p *violations) add(path, format string, args ...any) {
	*p = append(*p, path+": "+fmt.Sprintf(format, args...))
}

// maxName is the longest name of a Service or a Job. It also limits the ConfigMaps of tasks, whose names are the longest.
const maxName = 63

// names checks that the names of the children that the spec enables fit.
func (p *violations) names(sup *v1alpha1.Superset) {
	check := func(path, child string) {
		if excess := len(child) - maxName; excess > 0 {
			p.add("metadata.name", "must be at most %d characters when %s is enabled, since %q would be too long: use a shorter name",
				len(sup.Name)-excess, path, child)
		}
	}
	for _, d := range component.Enabled(&sup.Spec) {
		check("spec."+d.Key, names.Component(sup.Name, d.Name))
	}
	lc := orZero(sup.Spec.Lifecycle)
	if lc.MaintenancePage != nil {
		check("spec.lifecycle.maintenancePage", names.Component(sup.Name, names.MaintenancePage))
	}
	if enabled(lc.Disabled) {
		return
	}
	if migrates(&lc) {
		check("spec.lifecycle.migrate", names.Config(sup.Name, Migrate.Slug))
	}
	if rotates(&lc) {
		check("spec.lifecycle.rotate", names.Config(sup.Name, Rotate.Slug))
	}
	if initializes(&lc) {
		check("spec.lifecycle.init", names.Config(sup.Name, Init.Slug))
	}
}

func (p *violations) components(spec *v1alpha1.SupersetSpec) {
	nodePorts := map[int32]string{}
	for _, d := range component.Enabled(spec) {
		path, s := "spec."+d.Key, d.Settings(spec)
		pod := podTemplate(spec.PodTemplate, s.Pod)
		switch d.Name {
		case component.WebsocketServerName:
			p.websocket(path, s)
		case component.MCPServerName:
			p.mcp(path, &d, s.Service, &pod)
		}
		p.service(path+".service", s.Service, nodePorts)
		p.tuning(path, s)
		if !d.Singleton {
			p.scaling(path, first(s.Autoscaling, spec.Autoscaling), first(s.PodDisruptionBudget, spec.PodDisruptionBudget))
		}
		p.strategy(path, deploymentTemplate(spec.DeploymentTemplate, s.Deployment).Strategy, d.Singleton)
		p.environment(path+".podTemplate.container.env", d.Python, spec.Metastore != nil, &pod)
		for _, c := range pod.Sidecars {
			// Containers that have the main container's name are omitted anyway.
			if c.Name != names.MainContainer && slices.ContainsFunc(pod.InitContainers, func(i corev1.Container) bool { return i.Name == c.Name }) {
				p.add(path+".podTemplate", "sidecar and init container are both named %q: rename one of them", c.Name)
			}
		}
	}
}

// replacements maps each variable that would override the rendered configuration or the metastore to the field of the
// spec to use instead.
var replacements = map[string]string{
	"SUPERSET_CONFIG":                   "config",
	"SUPERSET_CONFIG_PATH":              "config",
	"SUPERSET__SQLALCHEMY_DATABASE_URI": "metastore",
}

// environment rejects variables that would silently override the spec.
func (p *violations) environment(path string, python, metastore bool, pod *v1alpha1.PodTemplate) {
	if !python {
		return
	}
	for _, e := range orZero(pod.Container).Env {
		if replacement := replacements[e.Name]; replacement != "" && (replacement != "metastore" || metastore) {
			p.add(path, "must not set %s, which overrides the configuration of the operator: use spec.%s", e.Name, replacement)
		}
	}
}

func (p *violations) websocket(path string, s *component.Settings) {
	if orZero(orZero(s.Image).Repository) == "" {
		p.add(path+".image.repository", "is required: the Superset image does not contain the websocket server, so set an image that does")
	}
	if s.JSON != nil && s.JSONFrom != nil {
		p.add(path+".config", "and configFrom are mutually exclusive: keep one of them")
	}
	if s.JSON != nil && !isObject(s.JSON) {
		p.add(path+".config", "must be a JSON object")
	}
}

// mcp rejects a route that Superset's MCP server answers with 404. A program of the user may answer anywhere.
func (p *violations) mcp(path string, d *component.Descriptor, s *v1alpha1.ComponentServiceSpec, pod *v1alpha1.PodTemplate) {
	route := d.Route(s)
	if strings.TrimSuffix(route, "/") != d.Path && len(orZero(pod.Container).Command) == 0 {
		p.add(path+".service.gatewayPath", "is %s, but the MCP server of Superset only answers at %s: remove it, or set %s.podTemplate.container.command",
			route, d.Path, path)
	}
}

func isObject(raw *runtime.RawExtension) bool {
	text := bytes.TrimSpace(raw.Raw)
	return len(text) == 0 || bytes.Equal(text, []byte("null")) || text[0] == '{' && json.Valid(text)
}

func (p *violations) service(path string, s *v1alpha1.ComponentServiceSpec, seen map[int32]string) {
	if s == nil {
		return
	}
	p.port(path+".port", s.Port)
	if s.NodePort == nil {
		return
	}
	if s.Type != corev1.ServiceTypeNodePort && s.Type != corev1.ServiceTypeLoadBalancer {
		p.add(path+".nodePort", "requires type NodePort or LoadBalancer: set type, or remove nodePort")
	}
	if other := seen[*s.NodePort]; other != "" {
		p.add(path+".nodePort", "is %d, which %s already uses: choose another", *s.NodePort, other)
	}
	seen[*s.NodePort] = path + ".nodePort"
}

func (p *violations) tuning(path string, s *component.Settings) {
	g := orZero(s.Gunicorn)
	if or(g.Threads, 1) > 1 && or(g.WorkerClass, "gthread") != "gthread" {
		p.add(path+".gunicorn.threads", "greater than 1 requires workerClass=gthread: change workerClass, or remove threads")
	}
	c := orZero(s.Celery)
	if or(c.Pool, "prefork") == "prefork" {
		return
	}
	if or(c.MaxTasksPerChild, 0) != 0 {
		p.add(path+".celery.maxTasksPerChild", "only applies to pool=prefork: change pool, or remove maxTasksPerChild")
	}
	if or(c.MaxMemoryPerChild, 0) != 0 {
		p.add(path+".celery.maxMemoryPerChild", "only applies to pool=prefork: change pool, or remove maxMemoryPerChild")
	}
}

// scaling validates the effective settings of a component, its own or from the top level.
func (p *violations) scaling(path string, a *v1alpha1.AutoscalingSpec, b *v1alpha1.PDBSpec) {
	if a != nil && a.MaxReplicas < or(a.MinReplicas, 1) {
		p.add(path+".autoscaling.maxReplicas", "must be at least minReplicas (%d): raise it, or lower minReplicas", or(a.MinReplicas, 1))
	}
	if b != nil && b.MinAvailable != nil && b.MaxUnavailable != nil {
		p.add(path+".podDisruptionBudget", "minAvailable and maxUnavailable are mutually exclusive: keep one of them")
	}
}

// strategy ignores the strategy of the scheduler, which the operator always sets.
func (p *violations) strategy(path string, s *appsv1.DeploymentStrategy, singleton bool) {
	if !singleton && s != nil && s.Type == appsv1.RecreateDeploymentStrategyType && s.RollingUpdate != nil {
		p.add(path+".deploymentTemplate.strategy.rollingUpdate", "cannot be combined with type Recreate: remove it")
	}
}

func (p *violations) page(sup *v1alpha1.Superset) {
	if page := MaintenancePage(sup); page != nil {
		p.strategy("spec.lifecycle.maintenancePage", page.Deployment.Strategy, false)
	}
}

func (p *violations) metastore(m *v1alpha1.MetastoreSpec) {
	if m == nil {
		return
	}
	p.port("spec.metastore.port", m.Port)
	if m.Host != nil && (orZero(m.Database) == "" || orZero(m.Username) == "") {
		p.add("spec.metastore.host", "requires database and username: set both")
	}
	if name := orZero(m.Database); strings.ContainsAny(name, "?@") {
		p.add("spec.metastore.database", "is %q, and SQLAlchemy cannot read a name with ? or @ from the URI that the fields make: "+
			"set spec.metastore.uriFrom to a complete URI instead", name)
	}
}

// clone validates the settings of the task that drops the metastore's database.
func (p *violations) clone(spec *v1alpha1.SupersetSpec) {
	lc := orZero(spec.Lifecycle)
	if enabled(lc.Disabled) || !clones(&lc) {
		return
	}
	const path = "spec.lifecycle.clone"
	m := orZero(spec.Metastore)
	if orZero(m.Host) == "" {
		p.add(path, "requires a structured metastore: set spec.metastore.host, database and username")
	}
	if spec.Environment != v1alpha1.Development && spec.Environment != v1alpha1.Staging {
		p.add(path, "is only allowed when environment is Development or Staging: it drops the metastore's database")
	}
	source, target := or(lc.Clone.Source.Type, v1alpha1.PostgreSQL), or(m.Type, v1alpha1.PostgreSQL)
	if source != target && len(lc.Clone.Command) == 0 {
		p.add(path+".source.type", "is %s, but spec.metastore.type is %s, and the default command cannot convert: "+
			"use the same type, or set %s.command", source, target, path)
	}
	p.port(path+".source.port", lc.Clone.Source.Port)
}

func (p *violations) valkey(v *v1alpha1.ValkeySpec) {
	if v == nil {
		return
	}
	if v.Host == "" {
		p.add("spec.valkey.host", "is required: set the host of the server")
	}
	p.port("spec.valkey.port", v.Port)
	resolved := ValkeyOf(v)
	databases := []int32{or(resolved.Broker, 0), or(resolved.ResultBackend, 0), orZero(resolved.Results).Database}
	for i := range resolved.Caches {
		databases = append(databases, resolved.Caches[i].Database)
	}
	if slices.Min(databases) < 0 {
		p.add("spec.valkey", "has a negative database number: use 0 or greater")
	}
}

func (p *violations) port(path string, port *int32) {
	if port != nil && (*port < 1 || *port > 65535) {
		p.add(path, "is %d, which is not a port: use 1 to 65535", *port)
	}
}

package resolve

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/component"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/naming"
)

// Workload is one component or task with all precedence settled.
type Workload struct {
	// Superset and Namespace are the owner's.
	Superset, Namespace string
	// Word is the component's or the task's name, for example "web-server" or "migrate".
	Word string
	// Name is that of the Deployment and Service, or of the Job.
	Name string
	// ConfigName is that of the ConfigMap.
	ConfigName string
	// Labels go on every object and pod of the workload; Selector is a subset of them.
	Labels, Selector map[string]string
	ServiceAccount   string

	Image       string
	PullPolicy  corev1.PullPolicy
	PullSecrets []corev1.LocalObjectReference

	Pod v1alpha1.PodTemplate
	// Python is what superset_config.py is rendered from.
	Python Python
	// Bootstrap is the shell that is sourced before the default command; empty for none.
	Bootstrap string
	// Inputs are the values that reach the containers as environment variables.
	Inputs Inputs
}

// Component is a workload that runs all the time.
type Component struct {
	Workload
	Descriptor component.Descriptor
	Deployment v1alpha1.DeploymentTemplate
	// Replicas is how many pods should run; zero while the Superset is stopped.
	Replicas int32
	// Autoscaling and PodDisruptionBudget are nil when there is none.
	Autoscaling         *v1alpha1.AutoscalingSpec
	PodDisruptionBudget *v1alpha1.PDBSpec
	Service             *v1alpha1.ComponentServiceSpec
	Gunicorn *Gunicorn
	Celery   *Celery
}

// Task is a workload that runs once for each change of its inputs.
type Task struct {
	Workload
	Kind       TaskKind
	Command    []string // the user's; nil for the default
	Trigger    string
	Timeout    time.Duration
	MaxRetries int32
	// RequiresDrain removes the components before the task.
	RequiresDrain bool
	Retention     v1alpha1.RetentionPolicy
	// AdminUser and LoadExamples are init's.
	AdminUser    *v1alpha1.AdminUserSpec
	LoadExamples bool
}

// Plan is everything that a Superset should have.
type Plan struct {
	// Components are in the order in which they are reconciled.
	Components []Component
	// Tasks are in the order in which they run; empty when the lifecycle is disabled.
	Tasks []Task
	// TaskImage is the image of the tasks as repository:tag; its change is an upgrade.
	TaskImage string
	// ServiceAccount is the account to create; nil when the user brings one.
	ServiceAccount *v1alpha1.ServiceAccountSpec
	// Disabled is true when the user turned all tasks off.
	Disabled bool
}

// For resolves the whole spec. stopped asks for zero replicas everywhere.
func For(sup *v1alpha1.Superset, stopped bool) Plan {
	plan := Plan{TaskImage: taskImage(sup)}
	for _, d := range component.Enabled(&sup.Spec) {
		plan.Components = append(plan.Components, forComponent(sup, d, stopped))
	}
	if lc := sup.Spec.Lifecycle; lc != nil && lc.Disabled != nil && *lc.Disabled {
		plan.Disabled = true
	} else {
		plan.Tasks = tasks(sup)
	}
	if sa := orZero(sup.Spec.ServiceAccount); sa.Create == nil || *sa.Create {
		plan.ServiceAccount = &sa
	}
	return plan
}

func forComponent(sup *v1alpha1.Superset, d component.Descriptor, stopped bool) Component {
	spec := &sup.Spec
	settings := d.Settings(spec)
	image, policy := overrideImage(&spec.Image, settings.Image)
	c := Component{
		Workload: Workload{
			Superset: sup.Name, Namespace: sup.Namespace, Word: d.Name,
			Name: naming.Component(sup.Name, d.Name), ConfigName: naming.Config(sup.Name, d.Name),
			Labels: naming.Labels(sup.Name, d.Name), Selector: naming.Selector(sup.Name, d.Name),
			ServiceAccount: naming.ServiceAccount(sup),
			Image:          image, PullPolicy: policy, PullSecrets: spec.Image.PullSecrets,
			Pod:       podTemplate(spec.PodTemplate, settings.Pod),
			Bootstrap: orZero(first(settings.BootstrapScript, spec.BootstrapScript)),
			Inputs:    inputs(sup),
		},
		Descriptor: d,
		Deployment: deploymentTemplate(spec.DeploymentTemplate, settings.Deployment),
		Replicas:   replicas(spec, d, settings),
		Service:    settings.Service,
	}
	switch d.Name {
	case component.WebServerName:
		c.Gunicorn = gunicorn(settings.Gunicorn)
	case component.CeleryWorkerName:
		c.Celery = celery(settings.Celery)
	}
	c.Python = python(sup, settings.Config)
	c.Python.Pool = componentPool(&c, first(settings.SQLAEngineOptions, spec.SQLAEngineOptions))
	if d.Name == component.WebServerName {
		c.Python.WebServerPort = c.Port()
	}
	if stopped {
		c.Replicas = 0
	}
	return c
}

// Port is where the main container listens: the first port that the user gave, or the component's own.
func (c *Component) Port() int32 {
	if ports := c.Pod.Container.Ports; len(ports) > 0 {
		return ports[0].ContainerPort
	}
	return c.Descriptor.Port
}

func replicas(spec *v1alpha1.SupersetSpec, d component.Descriptor, s *component.Settings) int32 {
	if d.Singleton {
		return 1
	}
	if r := first(s.Replicas, spec.Replicas); r != nil {
		return *r
	}
	return 1
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

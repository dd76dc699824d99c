package resolve

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/component"
)

// Workload is one component or task with all precedence resolved.
type Workload struct {
	// Superset and Namespace are the name and the namespace of the owner.
	Superset, Namespace string
	// Slug is the name of the component or task, for example "web-server" or "migrate".
	Slug string
	// Name is the name of the Deployment and Service, or of the Job.
	Name string
	// ConfigName is the name of the ConfigMap.
	ConfigName string
	// Labels are set on every object and pod of the workload; Selector is a subset of them.
	Labels, Selector map[string]string
	ServiceAccount   string

	Image       string
	PullPolicy  corev1.PullPolicy
	PullSecrets []corev1.LocalObjectReference

	Pod v1alpha1.PodTemplate
	// Python holds the settings of superset_config.py.
	Python Python
	// Bootstrap is the shell that is sourced before the default command; empty for none.
	Bootstrap string
	// Inputs are the values that reach the containers as environment variables.
	Inputs Inputs
}

// Component is a workload that runs permanently.
type Component struct {
	Workload
	Descriptor component.Descriptor
	Deployment v1alpha1.DeploymentTemplate
	// Replicas is the desired number of pods; zero while the Superset is stopped.
	Replicas int32
	// Autoscaling is nil without an autoscaler. Otherwise the autoscaler owns the number of pods, and Replicas is
	// its initial value.
	Autoscaling *v1alpha1.AutoscalingSpec
	// PodDisruptionBudget has exactly one value; nil if the spec has none.
	PodDisruptionBudget *v1alpha1.PDBSpec
	Service             *v1alpha1.ComponentServiceSpec
	// Path is the path prefix under which routes reach the component; empty when it is not routable.
	Path string
	// IPv6 reports whether the component listens on IPv6 instead of IPv4 alone.
	IPv6 bool
	// AppRoot is the prefix of all paths of the web server, from its environment.
	AppRoot  string
	Gunicorn *Gunicorn
	Celery   *Celery
	// JSON is the websocket server's config.json as the user wrote it, nil when there
	// is none; JSONFrom references it in a Secret instead.
	JSON     []byte
	JSONFrom *corev1.SecretKeySelector
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
	// AdminUser and LoadExamples are set only for init.
	AdminUser    *v1alpha1.AdminUserSpec
	LoadExamples bool
	// Rotates, CreatesDatabase and CheckTrigger are set only for preflight. Rotates reports whether the task rotate
	// runs after it, CreatesDatabase whether a later task creates the metastore's database. CheckTrigger is its own
	// trigger; Trigger is the one of the rotation.
	Rotates, CreatesDatabase bool
	CheckTrigger             string
	// SkipsMigration is set only for preflight. It reports whether the task migrate is disabled, so that the
	// metastore's user may lack permission to migrate.
	SkipsMigration bool
	// Clones and Migrated are set only for preflight, from the state of the other tasks. Clones reports that the clone
	// runs after it and replaces the metastore, Migrated that migrate is complete and does not run after it.
	Clones, Migrated bool
	// Checks is set only for migrate. It reports whether the task begins with the checks of the preflight.
	Checks bool
	// ServesMCP is set only for tasks that check the image. It reports whether the MCP server runs that image too,
	// which must then contain it.
	ServesMCP bool
	// Clone is set only for clone.
	Clone *CloneTask
	// CreateDatabase is set only for migrate; nil if no database is to be created.
	CreateDatabase *DatabaseTool
}

// ImageInput returns what stands for the image in checksums.
func (t *Task) ImageInput() string {
	if t.Clone != nil {
		return t.Clone.Tool.ImageInput
	}
	return t.Image
}

// Plan is the resolved spec of a Superset.
type Plan struct {
	// Components are in the order in which they are reconciled.
	Components []Component
	// Tasks are in the order in which they run; empty when the lifecycle is disabled.
	Tasks []Task
	// Page is the maintenance page; nil if there is none.
	Page *Page
	// TaskImage is the image of the tasks as repository:tag; its change is an upgrade.
	TaskImage string
	// ServiceAccount is the account to create; nil if the user provides one.
	ServiceAccount *v1alpha1.ServiceAccountSpec
	// Disabled reports whether the user disabled all tasks.
	Disabled bool
}

// Options are the inputs of the plan besides the spec.
type Options struct {
	// Stopped scales every component and the maintenance page to zero replicas.
	Stopped bool
	// LastReplicas holds, by component name, how many pods run now or ran when the
	// component was last removed or stopped. An autoscaled component starts with
	// that count instead of its minimum.
	LastReplicas map[string]int32
	// IPv6 lets components listen on IPv6, as required in a cluster whose pods have such addresses.
	IPv6 bool
}

// For resolves the whole spec. The plan shares no memory with it.
func For(sup *v1alpha1.Superset, options Options) Plan {
	sup = &v1alpha1.Superset{ObjectMeta: sup.ObjectMeta, Spec: *sup.Spec.DeepCopy()}
	plan := Plan{TaskImage: taskImage(sup)}
	for _, d := range component.Enabled(&sup.Spec) {
		plan.Components = append(plan.Components, forComponent(sup, d, options))
	}
	plan.Page = MaintenancePage(sup)
	if plan.Page != nil {
		plan.Page.IPv6 = options.IPv6
		if options.Stopped {
			plan.Page.Replicas = 0
		}
	}
	if lc := sup.Spec.Lifecycle; lc != nil && enabled(lc.Disabled) {
		plan.Disabled = true
	} else {
		plan.Tasks = tasks(sup)
	}
	if sa := orZero(sup.Spec.ServiceAccount); sa.Create == nil || *sa.Create {
		plan.ServiceAccount = &sa
	}
	return plan
}

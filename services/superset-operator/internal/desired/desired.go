package desired

import (
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/checksum"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/maintenance"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/render"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
)

// State is the desired state of a Superset.
type State struct {
	resolve.Plan
	// ConfigChecksum covers the settings that all components share.
	ConfigChecksum string
	// ServiceAccount is nil if the user provides one.
	ServiceAccount *corev1.ServiceAccount
	Components     []Component
	Tasks          []Task
	// Page is nil if there is no maintenance page.
	Page *Page
}

// Page is the maintenance page.
type Page struct {
	// ConfigMap is nil if the image of the user has the files.
	ConfigMap  *corev1.ConfigMap
	Deployment *appsv1.Deployment
}

// Component is one component with its objects.
type Component struct {
	resolve.Component
	// Checksum covers the component's files and inline secrets; empty when it has none.
	Checksum string
	// ConfigMap is nil for a websocket server without inline settings.
	ConfigMap  *corev1.ConfigMap
	Deployment *appsv1.Deployment
	Service    *corev1.Service // nil when the component listens nowhere
	// HPA and PDB are nil when there is none.
	HPA *autoscalingv2.HorizontalPodAutoscaler
	PDB *policyv1.PodDisruptionBudget
}

// Fingerprint covers how the component's pods run, without their number.
func (c *Component) Fingerprint() (string, error) {
	spec := c.Deployment.Spec
	spec.Replicas = nil
	text, err := json.Marshal(&spec)
	if err != nil {
		return "", fmt.Errorf("encode deployment %q: %w", c.Name, err)
	}
	return checksum.New("deployment").String("spec", string(text)).Sum(), nil
}

// Input is the input of [For].
type Input struct {
	Superset *v1alpha1.Superset
	// Stopped scales every component to zero replicas.
	Stopped bool
	// LastReplicas holds, by component name, how many pods run now or ran when the
	// component was last removed or stopped; autoscaled components begin there.
	LastReplicas map[string]int32
	// IPv6 reports whether pods have IPv6 addresses.
	IPv6 bool
	// ScheduledTime is the latest time of the clone's schedule that is due, in RFC 3339; empty without a schedule.
	ScheduledTime string
	// CompletedInputs holds, by task type, the fingerprint of the own inputs with which a task last
	// completed. Tasks that are not enabled use it.
	CompletedInputs map[string]string
	// Completed reports whether a task is complete for a checksum. It is called for each task except preflight, in
	// order; nil if none is complete.
	Completed func(kind resolve.TaskKind, checksum string) bool
}

// Task is one task with its ConfigMap. Its Job is rendered when an attempt begins.
type Task struct {
	resolve.Task
	// Checksum changes when the task has to run again, because its own inputs changed or a previous task runs again.
	// Inputs covers its own inputs only; empty for preflight, which is not part of that chain.
	Checksum, Inputs string
	// KeysChecksum and SettingsChecksum are parts of the checksum of preflight; empty for other tasks.
	KeysChecksum, SettingsChecksum string
	// PodHash changes when the pod of the task changes, which alone does not run the task again.
	PodHash string
	// ConfigMap is nil for a task that does not run Superset.
	ConfigMap *corev1.ConfigMap
}

// For computes the desired state.
func For(in Input) (*State, error) {
	sup := in.Superset
	plan := resolve.For(sup, resolve.Options{Stopped: in.Stopped, LastReplicas: in.LastReplicas, IPv6: in.IPv6})
	state := &State{Plan: plan, ConfigChecksum: shared(&sup.Spec)}
	if plan.ServiceAccount != nil {
		state.ServiceAccount = render.ServiceAccount(sup, plan.ServiceAccount)
	}
	if plan.Page != nil {
		state.Page = &Page{ConfigMap: maintenance.ConfigMap(plan.Page), Deployment: maintenance.Deployment(plan.Page)}
	}
	for i := range plan.Components {
		state.Components = append(state.Components, forComponent(&plan.Components[i]))
	}
	state.Tasks = tasks(&in, plan.Tasks)
	for i := range state.Tasks {
		t := &state.Tasks[i]
		t.ConfigMap = render.TaskConfigMap(&t.Task, plan.Components)
		var err error
		if t.PodHash, err = render.TaskPodHash(&t.Task); err != nil {
			return nil, err
		}
	}
	return state, nil
}

// tasks computes the checksums of all tasks, and tells the preflight, which is the first one, which of the others follow.
func tasks(in *Input, plan []resolve.Task) []Task {
	uid := string(in.Superset.UID)
	chain := newChain(uid, in.CompletedInputs)
	out := make([]Task, len(plan))
	for i := range plan {
		t := &out[i]
		t.Task = plan[i]
		if t.Kind.Type == resolve.Preflight.Type {
			sums := preflight(uid, &t.Task)
			t.Checksum, t.SettingsChecksum, t.KeysChecksum = sums.all, sums.settings, sums.keys
			continue
		}
		t.Inputs = inputs(&t.Task, in.ScheduledTime)
		t.Checksum = chain.next(t.Kind, t.Inputs)
		completed := in.Completed != nil && in.Completed(t.Kind, t.Checksum)
		if check := &out[0]; check.Kind.Type == resolve.Preflight.Type {
			check.Clones = check.Clones || t.Kind.Type == resolve.Clone.Type && !completed
			check.Migrated = check.Migrated || t.Kind.Type == resolve.Migrate.Type && completed
		}
	}
	return out
}

func forComponent(c *resolve.Component) Component {
	files := render.ComponentConfigMap(c)
	sum := config(c, files)
	return Component{
		Component: *c, Checksum: sum,
		ConfigMap: files, Deployment: render.Deployment(c, sum), Service: render.Service(c),
		HPA: render.Autoscaler(c), PDB: render.DisruptionBudget(c),
	}
}

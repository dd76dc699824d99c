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
	for i := range plan.Components {
		state.Components = append(state.Components, forComponent(&plan.Components[i]))
	}
	chain := newChain(string(sup.UID), in.CompletedInputs)
	for _, t := range plan.Tasks {
		hash, err := render.TaskPodHash(&t)
		if err != nil {
			return nil, err
		}
		task := Task{Task: t, PodHash: hash, ConfigMap: render.TaskConfigMap(&t, plan.Components)}
		if t.Kind.Type == resolve.Preflight.Type {
			sums := preflight(string(sup.UID), &t)
			task.Checksum, task.SettingsChecksum, task.KeysChecksum = sums.all, sums.settings, sums.keys
		} else {
			task.Inputs = inputs(&t, in.ScheduledTime)
			task.Checksum = chain.next(t.Kind, task.Inputs)
		}
		state.Tasks = append(state.Tasks, task)
	}
	return state, nil
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

package resolve

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
)

// defaultDrainInterval is the time between two checks of a draining generation.
const defaultDrainInterval = 5 * time.Second

// minDrainInterval limits the requests to the pods of a draining generation.
const minDrainInterval = time.Second

// Engine is the desired state of an engine, with every default applied.
type Engine struct {
	Name, Namespace string
	Replicas        int32
	// Template is the user's part of the pod template: class and engine merged.
	Template corev1.PodTemplateSpec
	Storage  v1alpha1.EngineStorageSpec
	// Config is the user's part of config.yaml without protected paths; nil when empty.
	Config map[string]any
	// ConfigHash and ClassHash are empty when their input is absent.
	ConfigHash, ClassHash string
	// EndpointOverride replaces the instance's metadata endpoint when set.
	EndpointOverride string
	UISidecar        bool
}

// Drain describes how the old generation of an engine is removed.
type Drain struct {
	// Skip is true for rollout recreate and for a disabled drain check.
	Skip bool
	// Interval is the time between two checks of its queries.
	Interval time.Duration
	// Timeout is the maximum duration of the drain; zero means no limit.
	Timeout time.Duration
}

// Resolve merges the layers. class is nil when the engine refers to none; replicas are
// the effective ones, with a stop command already applied.
func Resolve(e *v1alpha1.FireboltEngine, class *v1alpha1.FireboltEngineClass, replicas int32) (Engine, error) {
	base := defaults(class)
	config, err := mergeConfig(base.CustomEngineConfig, e.Spec.CustomEngineConfig)
	if err != nil {
		return Engine{}, err
	}
	out := Engine{
		Name: e.Name, Namespace: e.Namespace, Replicas: replicas,
		Template:         Templates(&base.Template, e.Spec.Template),
		Storage:          storage(base.Storage, e.Spec.Storage),
		Config:           config,
		EndpointOverride: value(e.Spec.MetadataEndpointOverride, nil, ""),
		UISidecar:        value(e.Spec.UISidecar, base.UISidecar, false),
	}
	if len(config) > 0 {
		if out.ConfigHash, err = Hash(config); err != nil {
			return Engine{}, fmt.Errorf("hash custom engine config: %w", err)
		}
	}
	if class != nil {
		if out.ClassHash, err = templateHash(&class.Spec.Template); err != nil {
			return Engine{}, fmt.Errorf("hash template of class %q: %w", class.Name, err)
		}
	}
	return out, nil
}

// DrainOf returns how the old generation is removed. It is computed on each reconcile: a
// change of these fields starts no rollout and applies to a drain in progress.
func DrainOf(e *v1alpha1.FireboltEngine, class *v1alpha1.FireboltEngineClass) Drain {
	base := defaults(class)
	d := Drain{Interval: defaultDrainInterval}
	if i := first(e.Spec.DrainCheckInterval, base.DrainCheckInterval); i != nil && i.Duration > 0 {
		d.Interval = max(i.Duration, minDrainInterval)
	}
	for _, timeout := range []*metav1.Duration{base.DrainTimeout, e.Spec.DrainTimeout} {
		if timeout != nil && timeout.Duration > 0 {
			d.Timeout = timeout.Duration
		}
	}
	d.Skip = value(e.Spec.Rollout, base.Rollout, v1alpha1.RolloutGraceful) == v1alpha1.RolloutRecreate ||
		!value(e.Spec.DrainCheckEnabled, base.DrainCheckEnabled, true)
	return d
}

// defaults returns the spec of the class, or an empty one without a class.
func defaults(class *v1alpha1.FireboltEngineClass) v1alpha1.FireboltEngineClassSpec {
	if class == nil {
		return v1alpha1.FireboltEngineClassSpec{}
	}
	return class.Spec
}

// storage returns the engine's backend as a whole if it sets one, otherwise the class's.
func storage(class, engine v1alpha1.EngineStorageSpec) v1alpha1.EngineStorageSpec {
	if engine.PersistentVolumeClaim != nil || engine.EmptyDir != nil || engine.HostPath != nil {
		return engine
	}
	return class
}

// first returns the first pointer that is set.
func first[T any](engine, class *T) *T {
	if engine != nil {
		return engine
	}
	return class
}

// value returns the value of the first set pointer, or the default.
func value[T any](engine, class *T, fallback T) T {
	if p := first(engine, class); p != nil {
		return *p
	}
	return fallback
}

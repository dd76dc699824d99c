package metrics

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/status"
)

// Labels.
const (
	labelNamespace = "namespace"
	labelName      = "name"
	labelInstance  = "instance"
	labelPhase     = "phase"
	labelType      = "type"
	labelFrom      = "from"
	labelTo        = "to"
	labelOutcome   = "outcome"
)

var (
	enginePhases = []v1alpha1.EnginePhase{
		v1alpha1.PhaseStable, v1alpha1.PhaseCreating, v1alpha1.PhaseSwitching, v1alpha1.PhaseDraining, v1alpha1.PhaseCleaning, v1alpha1.PhaseStopped,
	}
	instancePhases = []v1alpha1.InstancePhase{
		v1alpha1.InstanceProvisioning, v1alpha1.InstanceReady, v1alpha1.InstanceDegraded, v1alpha1.InstanceFailed,
	}
)

// labelValue limits the values of a label, regardless of the status.
func labelValue[T ~string](phase T, known []T) string {
	switch {
	case phase == "":
		return "none"
	case slices.Contains(known, phase):
		return string(phase)
	}
	return "unknown"
}

func engineDesc(name, help string, more ...string) *prometheus.Desc {
	labels := append([]string{labelNamespace, labelName, labelInstance}, more...)
	return prometheus.NewDesc("firebolt_engine_"+name, help, labels, nil)
}

func instanceDesc(name, help string, more ...string) *prometheus.Desc {
	labels := append([]string{labelNamespace, labelName}, more...)
	return prometheus.NewDesc("firebolt_instance_"+name, help, labels, nil)
}

var (
	enginePhase       = engineDesc("status_phase", "1 for the phase that the engine is in, 0 for the others.", labelPhase)
	engineCondition   = engineDesc("status_condition", "1 while the condition is True.", labelType)
	engineReplicas    = engineDesc("spec_replicas", "Desired nodes.")
	engineActive      = engineDesc("active_generation", "Generation that serves, -1 before the first.")
	engineDraining    = engineDesc("draining_generation", "Generation that is drained, -1 for none.")
	engineDrainFails  = engineDesc("drain_check_failing", "1 while the draining generation cannot report its running queries.")
	enginePodsReady   = engineDesc("pods_ready", "Pods of the serving generation that are ready.")
	enginePodsTotal   = engineDesc("pods_total", "Pods of the serving generation.")
	engineReconciled  = engineDesc("last_reconciled_timestamp_seconds", "Time of the last successful reconcile, in seconds since 1970.")
	rolloutsThrottled = prometheus.NewDesc("firebolt_engine_rollouts_held",
		"Engines whose external rollout waits for a rollout slot.", nil, nil)

	instancePhase      = instanceDesc("status_phase", "1 for the phase that the instance is in, 0 for the others.", labelPhase)
	instanceCondition  = instanceDesc("status_condition", "1 while the condition is True.", labelType)
	instanceInfo       = instanceDesc("info", "Always 1; the labels describe the instance.", "id", "postgres_mode")
	instanceReconciled = instanceDesc("last_reconciled_timestamp_seconds", "Time of the last successful reconcile, in seconds since 1970.")
)

// scrapeTimeout bounds a read of the cache, which waits until the cache is synced.
const scrapeTimeout = 3 * time.Second

// collector computes, at each scrape, the gauges of the existing objects.
type collector struct {
	list               atomic.Pointer[Lister]
	throttled          atomic.Pointer[func() int]
	engines, instances *reconcileTimes
}

func newCollector() *collector {
	return &collector{engines: newReconcileTimes(), instances: newReconcileTimes()}
}

func (c *collector) use(list Lister) { c.list.Store(&list) }

func (c *collector) throttledCount() int {
	if count := c.throttled.Load(); count != nil {
		return (*count)()
	}
	return 0
}

// reconcileTimes records when a reconcile last ended without an error. The status does not have that time,
// since it is written only when a field changed.
type reconcileTimes struct {
	mu sync.Mutex
	at map[types.NamespacedName]time.Time
}

func newReconcileTimes() *reconcileTimes {
	return &reconcileTimes{at: map[types.NamespacedName]time.Time{}}
}

func (p *reconcileTimes) reconciled(key types.NamespacedName, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.at[key] = now
}

func (p *reconcileTimes) forget(key types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.at, key)
}

// last returns the time of that reconcile; false if this process has not reconciled the object.
func (p *reconcileTimes) last(namespace, name string) (time.Time, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at, ok := p.at[types.NamespacedName{Namespace: namespace, Name: name}]
	return at, ok
}

// Describe implements [prometheus.Collector].
func (c *collector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		enginePhase, engineCondition, engineReplicas, engineActive, engineDraining, engineDrainFails, enginePodsReady, enginePodsTotal,
		engineReconciled, rolloutsThrottled, instancePhase, instanceCondition, instanceInfo, instanceReconciled,
	} {
		out <- d
	}
}

// Collect implements [prometheus.Collector]. If the cache cannot be read, it yields no series
// instead of zeros, which would look like an empty fleet.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	out <- prometheus.MustNewConstMetric(rolloutsThrottled, prometheus.GaugeValue, float64(c.throttledCount()))
	list := c.list.Load()
	if list == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	if engines, err := list.Engines(ctx); err == nil {
		for i := range engines {
			if !isForgotten(&engines[i], v1alpha1.EngineFinalizer) {
				c.engine(&engines[i], out)
			}
		}
	}
	if instances, err := list.Instances(ctx); err == nil {
		for i := range instances {
			if !isForgotten(&instances[i], v1alpha1.InstanceFinalizer) {
				c.instance(&instances[i], out)
			}
		}
	}
}

// isForgotten reports whether the object is terminating without the operator's finalizer. The operator has then completed its
// part of the deletion and no longer reconciles the object, however long others hold it.
func isForgotten(o metav1.Object, finalizer string) bool {
	return o.GetDeletionTimestamp() != nil && !slices.Contains(o.GetFinalizers(), finalizer)
}

func (c *collector) engine(e *v1alpha1.FireboltEngine, out chan<- prometheus.Metric) {
	gauge := series(out, e.Namespace, e.Name, e.Spec.InstanceRef)
	st := &e.Status
	for _, phase := range enginePhases {
		gauge(enginePhase, boolValue(st.Phase == phase), string(phase))
	}
	conditions(st.Conditions, status.EngineConditions(), func(kind string, v float64) { gauge(engineCondition, v, kind) })
	active, draining := st.ActiveGeneration, int64(-1)
	if st.Phase == "" {
		active = -1
	}
	if st.DrainingGeneration != nil {
		draining = *st.DrainingGeneration
	}
	gauge(engineReplicas, float64(e.Spec.Replicas))
	gauge(engineActive, float64(active))
	gauge(engineDraining, float64(draining))
	ready := meta.FindStatusCondition(st.Conditions, v1alpha1.ConditionReady)
	gauge(engineDrainFails, boolValue(ready != nil && ready.Reason == v1alpha1.ReasonDrainCheckFailing))
	gauge(enginePodsReady, float64(st.ReadyReplicas))
	gauge(enginePodsTotal, float64(st.Replicas))
	if at, ok := c.engines.last(e.Namespace, e.Name); ok {
		gauge(engineReconciled, seconds(at))
	}
}

func (c *collector) instance(i *v1alpha1.FireboltInstance, out chan<- prometheus.Metric) {
	gauge := series(out, i.Namespace, i.Name)
	for _, phase := range instancePhases {
		gauge(instancePhase, boolValue(i.Status.Phase == phase), string(phase))
	}
	conditions(i.Status.Conditions, status.InstanceConditions(), func(kind string, v float64) { gauge(instanceCondition, v, kind) })
	mode := "internal"
	if i.Spec.Metadata.Postgres != nil {
		mode = "external"
	}
	gauge(instanceInfo, 1, i.Spec.ID, mode)
	if at, ok := c.instances.last(i.Namespace, i.Name); ok {
		gauge(instanceReconciled, seconds(at))
	}
}

// series sends gauges of one object.
func series(out chan<- prometheus.Metric, object ...string) func(*prometheus.Desc, float64, ...string) {
	return func(desc *prometheus.Desc, value float64, more ...string) {
		out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, slices.Concat(object, more)...)
	}
}

// conditions calls send for each of the types that the object carries, and always for Ready: an
// object without it has not been reconciled yet and is not ready.
func conditions(have []metav1.Condition, types []string, send func(kind string, value float64)) {
	for _, kind := range types {
		i := slices.IndexFunc(have, func(c metav1.Condition) bool { return c.Type == kind })
		if i >= 0 {
			send(kind, boolValue(have[i].Status == metav1.ConditionTrue))
		} else if kind == v1alpha1.ConditionReady {
			send(kind, 0)
		}
	}
}

func boolValue(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

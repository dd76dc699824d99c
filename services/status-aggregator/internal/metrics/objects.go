package metrics

import (
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/contract"
)

var statuses = []metav1.ConditionStatus{metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown}

// exportedStatuses lists the statuses of a condition that have a series for each object: those that
// alerts and dashboards select by the object's name. All others are in resources, whose
// cardinality does not grow with the number of objects.
var exportedStatuses = map[string][]metav1.ConditionStatus{
	conditions.TypeAvailable:   statuses,
	conditions.TypeDegraded:    {metav1.ConditionTrue},
	conditions.TypeProgressing: {metav1.ConditionTrue},
	conditions.TypePaused:      {metav1.ConditionTrue},
	conditions.TypeStopped:     {metav1.ConditionTrue},
}

// objects are the series that belong to one object each, and those that they feed.
type objects struct {
	all         bool // every condition of every object
	condition   *prometheus.GaugeVec
	since       *prometheus.GaugeVec
	transitions *prometheus.CounterVec
	held        *prometheus.GaugeVec
	observed    *prometheus.GaugeVec
	duration    *prometheus.HistogramVec
	resources   *prometheus.GaugeVec

	mu       sync.Mutex
	statuses map[contract.Ref]map[string]string // by condition type, as counted in resources
}

func newObjects() *objects {
	return &objects{
		statuses: map[contract.Ref]map[string]string{},
		condition: gauge("condition", "Status of a condition of a managed object, one series for each status.",
			"kind", "namespace", "name", "type", "status"),
		since: gauge("condition_since_timestamp_seconds", "Since when a condition has its status.",
			"kind", "namespace", "name", "type"),
		transitions: counter("condition_transitions_total", "Flips of a published condition.",
			"kind", "namespace", "name", "type"),
		held: gauge("held_transitions", "1 while damping holds back a flip of the condition.",
			"kind", "namespace", "name", "type"),
		observed: gauge("observation_timestamp_seconds", "When the observation behind the conditions was stored on the bus.",
			"kind", "namespace", "name"),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    prefix + "time_in_state_seconds",
			Help:    "Duration of past statuses of conditions.",
			Buckets: []float64{1, 5, 15, 30, 60, 120, 300, 900, 3600, 4 * 3600, 24 * 3600, 7 * 24 * 3600},
		}, []string{"kind", "type", "status"}),
		resources: gauge("resources", "Managed objects by the status of a condition.", "kind", "type", "status"),
	}
}

func (o *objects) collectors() []prometheus.Collector {
	return []prometheus.Collector{o.condition, o.since, o.transitions, o.held, o.observed, o.duration, o.resources}
}

// Conditions exports the published conditions of one object.
func (m *Metrics) Conditions(ref contract.Ref, published []contract.Condition) {
	o := m.objects
	kind := string(ref.Kind)
	for former := range o.count(ref, published) {
		if !slices.ContainsFunc(published, func(c contract.Condition) bool { return c.Type == former }) {
			o.forget(ref, former)
		}
	}
	for _, c := range published {
		for _, status := range o.series(c.Type) {
			o.condition.WithLabelValues(kind, ref.Namespace, ref.Name, c.Type, string(status)).
				Set(boolValue(c.Status == string(status)))
		}
		if o.all || c.Type == conditions.TypeAvailable {
			o.since.WithLabelValues(kind, ref.Namespace, ref.Name, c.Type).Set(seconds(c.LastTransitionTime))
		}
		if o.flips(c.Type) {
			o.transitions.WithLabelValues(kind, ref.Namespace, ref.Name, c.Type).Add(0) // exists before the first flip, so that increase() sees it
		}
	}
}

func (o *objects) series(conditionType string) []metav1.ConditionStatus {
	if o.all {
		return statuses
	}
	return exportedStatuses[conditionType]
}

func (o *objects) flips(conditionType string) bool {
	return o.all || conditionType == conditions.TypeAvailable || conditionType == conditions.TypeDegraded
}

// count moves the object from its previous statuses, by condition type, to the current ones, and returns the previous ones.
func (o *objects) count(ref contract.Ref, now []contract.Condition) (previous map[string]string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	kind := string(ref.Kind)
	previous = o.statuses[ref]
	for conditionType, status := range previous {
		o.resources.WithLabelValues(kind, conditionType, status).Dec()
	}
	if len(now) == 0 {
		delete(o.statuses, ref)
		return previous
	}
	counted := make(map[string]string, len(now))
	for _, c := range now {
		for _, status := range statuses {
			o.resources.WithLabelValues(kind, c.Type, string(status)).Add(boolValue(c.Status == string(status)))
		}
		counted[c.Type] = c.Status
	}
	o.statuses[ref] = counted
	return previous
}

// Flips counts the conditions whose status differs between two entries of the same
// incarnation, and records how long the previous one lasted.
func (m *Metrics) Flips(ref contract.Ref, before, after []contract.Condition) {
	for _, was := range before {
		for _, is := range after {
			if was.Type != is.Type || was.Status == is.Status {
				continue
			}
			if m.objects.flips(is.Type) {
				m.objects.transitions.WithLabelValues(string(ref.Kind), ref.Namespace, ref.Name, is.Type).Inc()
			}
			m.objects.duration.WithLabelValues(string(ref.Kind), was.Type, was.Status).
				Observe(max(is.LastTransitionTime.Sub(was.LastTransitionTime).Seconds(), 0))
		}
	}
}

// Held exports whether damping holds back a flip of the condition.
func (m *Metrics) Held(ref contract.Ref, conditionType string, held bool) {
	if held {
		m.objects.held.WithLabelValues(string(ref.Kind), ref.Namespace, ref.Name, conditionType).Set(1)
	} else {
		m.objects.held.DeleteLabelValues(string(ref.Kind), ref.Namespace, ref.Name, conditionType)
	}
}

// Observed exports when the observation behind the conditions was stored.
func (m *Metrics) Observed(ref contract.Ref, stored time.Time) {
	m.objects.observed.WithLabelValues(string(ref.Kind), ref.Namespace, ref.Name).Set(seconds(stored))
}

// Forget drops the series of one object. It deletes each by its labels: a partial match would compare the labels of all
// objects.
func (m *Metrics) Forget(ref contract.Ref) {
	o := m.objects
	for former := range o.count(ref, nil) { // a later release may have published other types
		o.forget(ref, former)
	}
	for _, conditionType := range conditions.Types() {
		o.forget(ref, conditionType)
	}
	o.observed.DeleteLabelValues(string(ref.Kind), ref.Namespace, ref.Name)
}

// forget drops the series of a condition of one object.
func (o *objects) forget(ref contract.Ref, conditionType string) {
	kind := string(ref.Kind)
	for _, status := range statuses {
		o.condition.DeleteLabelValues(kind, ref.Namespace, ref.Name, conditionType, string(status))
	}
	o.since.DeleteLabelValues(kind, ref.Namespace, ref.Name, conditionType)
	o.transitions.DeleteLabelValues(kind, ref.Namespace, ref.Name, conditionType)
	o.held.DeleteLabelValues(kind, ref.Namespace, ref.Name, conditionType)
}

func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

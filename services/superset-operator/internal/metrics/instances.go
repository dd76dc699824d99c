package metrics

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
)

// Lister returns the Supersets that exist. They are only read.
type Lister func(context.Context) ([]v1alpha1.Superset, error)

// FromCache lists what a manager's cache holds, without copying it.
func FromCache(cache client.Reader) Lister {
	return func(ctx context.Context) ([]v1alpha1.Superset, error) {
		list := &v1alpha1.SupersetList{}
		if err := cache.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			return nil, fmt.Errorf("list supersets: %w", err)
		}
		return list.Items, nil
	}
}

// scrapeTimeout bounds a read from the cache, which blocks until it has synced.
const scrapeTimeout = 3 * time.Second

// unknown is the phase of a Superset that no operator has reconciled yet.
const unknown = "Unknown"

var (
	instancesDesc = prometheus.NewDesc("superset_instances",
		"Number of Supersets by phase.", []string{"phase"}, nil)
	maintenanceDesc = prometheus.NewDesc("superset_maintenance_active",
		"Number of Supersets that show the maintenance page.", nil, nil)
	cannotStartDesc = prometheus.NewDesc("superset_tasks_cannot_start",
		"Number of lifecycle tasks whose pod cannot start, for example because its image cannot be pulled.", []string{"task"}, nil)
)

// instances computes the gauges of the existing Supersets at each scrape.
type instances struct{ list atomic.Pointer[Lister] }

func (c *instances) setLister(list Lister) { c.list.Store(&list) }

// Describe implements [prometheus.Collector].
func (c *instances) Describe(out chan<- *prometheus.Desc) {
	out <- instancesDesc
	out <- maintenanceDesc
	out <- cannotStartDesc
}

// Collect implements [prometheus.Collector]. A cache that cannot be read yields no
// series rather than zeros, which would look as if all Supersets were deleted.
func (c *instances) Collect(out chan<- prometheus.Metric) {
	list := c.list.Load()
	if list == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	all, err := (*list)(ctx)
	if err != nil {
		return
	}
	found := count(all)
	found.send(out)
}

// counts holds the counts over all Supersets.
type counts struct {
	phases      map[string]int
	maintenance int
	cannotStart map[string]int
}

func count(all []v1alpha1.Superset) counts {
	c := counts{phases: map[string]int{}, cannotStart: map[string]int{}}
	for _, phase := range v1alpha1.Phases() {
		c.phases[string(phase)] = 0
	}
	for _, kind := range resolve.TaskKinds() {
		c.cannotStart[kind.Slug] = 0
	}
	for i := range all {
		c.add(&all[i].Status)
	}
	return c
}

func (c *counts) add(status *v1alpha1.SupersetStatus) {
	phase := string(status.Phase)
	if phase == "" {
		phase = unknown
	}
	c.phases[phase]++
	lifecycle := status.Lifecycle
	if lifecycle == nil {
		return
	}
	if lifecycle.MaintenanceActive {
		c.maintenance++
	}
	for _, kind := range resolve.TaskKinds() {
		entry := *kind.StatusRef(lifecycle)
		if entry != nil && cannotStart(entry.Conditions) {
			c.cannotStart[kind.Slug]++
		}
	}
}

func cannotStart(conditions []metav1.Condition) bool {
	c := meta.FindStatusCondition(conditions, v1alpha1.ConditionTaskComplete)
	return c != nil && c.Status == metav1.ConditionFalse && c.Reason == v1alpha1.ReasonTaskCannotStart
}

func (c *counts) send(out chan<- prometheus.Metric) {
	gauge := func(desc *prometheus.Desc, value int, labels ...string) {
		out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(value), labels...)
	}
	for phase, n := range c.phases {
		gauge(instancesDesc, n, phase)
	}
	gauge(maintenanceDesc, c.maintenance)
	for task, n := range c.cannotStart {
		gauge(cannotStartDesc, n, task)
	}
}

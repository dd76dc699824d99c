package metrics

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
)

// labelsOf returns the labels of each of our metrics in a registry, in the
// order of the descriptions.
func labelsOf(t *testing.T, s *set) map[string][]string {
	t.Helper()
	described := make(chan *prometheus.Desc, 100)
	for _, c := range s.collectors() {
		c.Describe(described)
	}
	close(described)
	text := regexp.MustCompile(`fqName: "([^"]+)".*variableLabels: \{([^}]*)\}`)
	out := map[string][]string{}
	for d := range described {
		m := text.FindStringSubmatch(d.String())
		if m == nil {
			t.Fatalf("cannot read the description %s", d)
		}
		out[m[1]] = nil
		if m[2] != "" {
			out[m[1]] = strings.Split(m[2], ",")
		}
	}
	return out
}

func TestPageListsRegisteredMetrics(t *testing.T) {
	page, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string][]string{}
	quoted := regexp.MustCompile("`([^`]+)`")
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(line, "|")
		if len(cells) < 5 || !strings.HasPrefix(cells[1], " `") {
			continue
		}
		var labels []string
		for _, m := range quoted.FindAllStringSubmatch(cells[len(cells)-3], -1) {
			labels = append(labels, m[1])
		}
		documented[quoted.FindStringSubmatch(cells[1])[1]] = labels
	}
	if diff := cmp.Diff(labelsOf(t, newSet()), documented); diff != "" {
		t.Errorf("docs/metrics.md differs from what is registered (-registered +documented):\n%s", diff)
	}
}

// podsTotal is a gauge despite its name, which dashboards of earlier operators use.
const podsTotal = "firebolt_engine_pods_total"

// TestCountersHaveNoObjectNames checks that only gauges, whose series are deleted with the
// object, and the one counter that DeleteEngine clears have names of objects.
func TestCountersHaveNoObjectNames(t *testing.T) {
	allowed := []string{
		podsTotal, "firebolt_engine_drain_check_errors_total",
		"firebolt_engine_last_reconciled_timestamp_seconds", "firebolt_instance_last_reconciled_timestamp_seconds",
	}
	for name, labels := range labelsOf(t, newSet()) {
		counted := strings.HasSuffix(name, "_total") || strings.HasSuffix(name, "_seconds")
		if counted && slices.Contains(labels, labelName) && !slices.Contains(allowed, name) {
			t.Errorf("%s carries the object's name", name)
		}
	}
}

func TestRegisterServesProcessMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	e := engine(v1alpha1.FireboltEngineStatus{Phase: v1alpha1.PhaseStable})
	i := &v1alpha1.FireboltInstance{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: "main"}}
	for range 2 {
		if err := Register(registry, lists([]v1alpha1.FireboltEngine{*e}, []v1alpha1.FireboltInstance{*i})); err != nil {
			t.Fatal(err)
		}
	}
	after := i.DeepCopy()
	after.Status.Phase = v1alpha1.InstanceProvisioning
	instance := types.NamespacedName{Namespace: key.Namespace, Name: "main"}
	Engine(&v1alpha1.FireboltEngine{}, e, second(0))
	Instance(i, after)
	DrainCheckFailed(key, "main")
	DrainCheckFailed(types.NamespacedName{Namespace: "shop", Name: "other"}, "main")
	EventReadFailed()
	CountThrottled(func() int { return 1 })
	EngineReconciled(key, second(0))
	InstanceReconciled(instance, second(0))
	got := values(t, registry)
	for _, name := range []string{
		"firebolt_engine_phase_transitions_total none stable", "firebolt_instance_phase_transitions_total none Provisioning",
		"firebolt_engine_drain_check_errors_total", "firebolt_engine_event_read_errors_total", "firebolt_engine_rollouts_held",
		"firebolt_engine_last_reconciled_timestamp_seconds", "firebolt_instance_last_reconciled_timestamp_seconds",
	} {
		if got[name] == 0 {
			t.Errorf("%s is not served", name)
		}
	}
	problems, err := testutil.GatherAndLint(registry)
	problems = slices.DeleteFunc(problems, func(p promlint.Problem) bool { return p.Metric == podsTotal })
	if err != nil || len(problems) > 0 {
		t.Errorf("%v %v", problems, err)
	}
	DeleteEngine(key)
	DeleteInstance(instance)
	got = values(t, registry)
	for _, name := range []string{
		"firebolt_engine_drain_check_errors_total",
		"firebolt_engine_last_reconciled_timestamp_seconds", "firebolt_instance_last_reconciled_timestamp_seconds",
	} {
		if v, ok := got[name]; ok {
			t.Errorf("%s is still %v", name, v)
		}
	}
	if got["firebolt_engine_drain_check_errors_total other"] != 1 {
		t.Errorf("the errors of another engine were deleted: %v", got)
	}
}

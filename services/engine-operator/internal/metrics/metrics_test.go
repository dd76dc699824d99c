package metrics

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flotilla-dev/flotilla/libs/conditions/transition"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/statusevents"
)

var baseTime = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func second(n int) time.Time { return baseTime.Add(time.Duration(n) * time.Second) }

var key = types.NamespacedName{Namespace: "shop", Name: "orders"}

func engine(status v1alpha1.FireboltEngineStatus) *v1alpha1.FireboltEngine {
	e := &v1alpha1.FireboltEngine{Status: status}
	e.Namespace, e.Name, e.Spec.InstanceRef, e.Spec.Replicas = key.Namespace, key.Name, "main", 2
	return e
}

// registered returns a set of metrics with its own registry.
func registered(t *testing.T, list Lister) (*set, *prometheus.Registry) {
	t.Helper()
	s, registry := newSet(), prometheus.NewRegistry()
	s.collector.use(list)
	for _, c := range s.collectors() {
		registry.MustRegister(c)
	}
	return s, registry
}

func lists(engines []v1alpha1.FireboltEngine, instances []v1alpha1.FireboltInstance) Lister {
	return Lister{
		Engines:   func(context.Context) ([]v1alpha1.FireboltEngine, error) { return engines, nil },
		Instances: func(context.Context) ([]v1alpha1.FireboltInstance, error) { return instances, nil },
	}
}

// values returns the series that are not zero: for histograms the sums.
func values(t *testing.T, registry *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			var name strings.Builder
			name.WriteString(family.GetName())
			for _, l := range m.GetLabel() {
				if v := l.GetValue(); v != key.Namespace && v != key.Name && v != "main" {
					name.WriteString(" " + v)
				}
			}
			v := m.GetGauge().GetValue() + m.GetCounter().GetValue() + m.GetHistogram().GetSampleSum()
			if v != 0 || m.GetHistogram().GetSampleCount() > 0 {
				out[name.String()] = v
			}
		}
	}
	return out
}

// withTransition returns the status after a change of the phase.
func withTransition(s v1alpha1.FireboltEngineStatus, p v1alpha1.EnginePhase, at int, reason string, edits ...func(*v1alpha1.FireboltEngineStatus)) v1alpha1.FireboltEngineStatus {
	out := *s.DeepCopy()
	if out.Phase != p {
		out.Transitions = transition.Append(out.Transitions, string(p), reason, "", second(at))
	}
	out.Phase = p
	for _, edit := range edits {
		edit(&out)
	}
	return out
}

// TestDefect14TransitionsHaveEventAndMetric checks all pairs of phases, of engines and
// of instances, including the first phase of a new object.
func TestDefect14TransitionsHaveEventAndMetric(t *testing.T) {
	for _, from := range append([]v1alpha1.EnginePhase{""}, enginePhases...) {
		for _, to := range enginePhases {
			s := newSet()
			before := v1alpha1.FireboltEngineStatus{}
			if from != "" {
				before = withTransition(before, from, 0, "Before")
			}
			after := withTransition(before, to, 1, "After")
			s.engine(engine(before), engine(after), second(1))
			s.engine(engine(after), engine(after), second(2))
			emitted := statusevents.Engine(engine(before), engine(after))
			checkTransition(t, string(from), string(to), testutil.ToFloat64(s.engineMoves.WithLabelValues(labelValue(from, enginePhases), string(to))), emitted)
		}
	}
	for _, from := range append([]v1alpha1.InstancePhase{""}, instancePhases...) {
		for _, to := range instancePhases {
			s := newSet()
			before, after := &v1alpha1.FireboltInstance{}, &v1alpha1.FireboltInstance{}
			before.Status.Phase, after.Status.Phase = from, to
			before.Status.Transitions = transition.Append(nil, string(from), "Before", "", second(0))
			after.Status.Transitions = transition.Append(before.Status.Transitions, string(to), "After", "", second(1))
			s.instance(before, after)
			s.instance(after, after)
			emitted := statusevents.Instance(before, after)
			checkTransition(t, string(from), string(to), testutil.ToFloat64(s.instanceMoves.WithLabelValues(labelValue(from, instancePhases), string(to))), emitted)
		}
	}
}

func checkTransition(t *testing.T, from, to string, counted float64, emitted []statusevents.Event) {
	t.Helper()
	name, want := from+" to "+to, 1
	if from == to {
		want = 0
	}
	if counted != float64(want) || len(emitted) != want {
		t.Errorf("%s: counted %v times, events %+v", name, counted, emitted)
		return
	}
	if from == "" {
		from = "none"
	}
	if want == 1 && (emitted[0].Reason != "After" || !strings.HasPrefix(emitted[0].Message, fmt.Sprintf("Phase %s, was %s", to, from))) {
		t.Errorf("%s: got events %+v", name, emitted)
	}
}

// rollingOut edits a status to a rollout that started at a second.
func rollingOut(current, active int64, started int) func(*v1alpha1.FireboltEngineStatus) {
	return func(s *v1alpha1.FireboltEngineStatus) {
		s.CurrentGeneration, s.ActiveGeneration = current, active
		s.RolloutStartedAt, s.DrainingGeneration = &metav1.Time{Time: second(started)}, nil
	}
}

// terminal edits a status to a generation without a rollout.
func terminal(n int64) func(*v1alpha1.FireboltEngineStatus) {
	return func(s *v1alpha1.FireboltEngineStatus) {
		s.CurrentGeneration, s.ActiveGeneration, s.RolloutStartedAt, s.DrainingGeneration = n, n, nil, nil
	}
}

// statusWrite is one write of the status.
type statusWrite struct {
	at     int
	phase  v1alpha1.EnginePhase
	reason string
	edit   func(*v1alpha1.FireboltEngineStatus)
}

// lifecycle returns an installation, a rollout with a drain, an abandoned and reverted one, a
// rolled back one and two more drains.
func lifecycle() []statusWrite {
	return []statusWrite{
		{0, v1alpha1.PhaseCreating, "Initializing", rollingOut(0, -1, 0)},
		{20, v1alpha1.PhaseSwitching, "PodsReady", rollingOut(0, -1, 0)},
		{20, v1alpha1.PhaseStable, "Switched", terminal(0)}, // completed, 20 s
		{100, v1alpha1.PhaseCreating, "SpecChanged", rollingOut(1, 0, 100)},
		{110, v1alpha1.PhaseSwitching, "PodsReady", rollingOut(1, 0, 100)},
		{111, v1alpha1.PhaseDraining, "Switched", rollingOut(1, 1, 100)},
		{121, v1alpha1.PhaseCleaning, "Drained", rollingOut(1, 1, 100)}, // drained, 10 s
		{130, v1alpha1.PhaseStable, "RolledOut", terminal(1)},           // completed, 30 s
		{200, v1alpha1.PhaseCreating, "SpecChanged", rollingOut(2, 1, 200)},
		{207, v1alpha1.PhaseCreating, "SpecChanged", rollingOut(3, 1, 207)}, // abandoned, 7 s
		{208, v1alpha1.PhaseStable, "Reverted", terminal(1)},                // reverted, 1 s
		{300, v1alpha1.PhaseCreating, "SpecChanged", rollingOut(4, 1, 300)},
		{302, v1alpha1.PhaseStable, "RolledBack", func(s *v1alpha1.FireboltEngineStatus) { // rolled back, 2 s
			terminal(1)(s)
			s.RejectedRendering = "r"
		}},
		{400, v1alpha1.PhaseCreating, "SpecChanged", rollingOut(5, 1, 400)},
		{400, v1alpha1.PhaseSwitching, "PodsReady", rollingOut(5, 1, 400)},
		{401, v1alpha1.PhaseDraining, "Switched", rollingOut(5, 5, 400)},
		{501, v1alpha1.PhaseCleaning, v1alpha1.ReasonDrainTimeoutExceeded, rollingOut(5, 5, 400)}, // expired, 100 s
		{503, v1alpha1.PhaseStopped, "RolledOut", terminal(5)},                                    // completed, 103 s
		{600, v1alpha1.PhaseCreating, "SpecChanged", rollingOut(6, 5, 600)},
		{600, v1alpha1.PhaseSwitching, "PodsReady", rollingOut(6, 5, 600)},
		{600, v1alpha1.PhaseDraining, "Switched", rollingOut(6, 6, 600)},
		{600, v1alpha1.PhaseCleaning, "DrainSkipped", rollingOut(6, 6, 600)}, // skipped
		{600, v1alpha1.PhaseStable, "RolledOut", terminal(6)},                // completed, 0 s
	}
}

// TestEngineLifecycleCountsOnce runs through a lifecycle, write by write, like a leader.
func TestEngineLifecycleCountsOnce(t *testing.T) {
	s, registry := registered(t, lists(nil, nil))
	before := &v1alpha1.FireboltEngine{}
	var status v1alpha1.FireboltEngineStatus
	for _, w := range lifecycle() {
		status = withTransition(status, w.phase, w.at, w.reason, w.edit)
		if w.reason == "SpecChanged" {
			status.RejectedRendering = ""
		}
		after := engine(status)
		s.engine(before, after, second(w.at))
		s.engine(after, after, second(w.at+1)) // a write without a change
		before = after
	}
	want := map[string]float64{
		"firebolt_engine_phase_transitions_total none creating":      1,
		"firebolt_engine_phase_transitions_total creating switching": 4,
		"firebolt_engine_phase_transitions_total creating stable":    2,
		"firebolt_engine_phase_transitions_total switching stable":   1,
		"firebolt_engine_phase_transitions_total stable creating":    4,
		"firebolt_engine_phase_transitions_total stopped creating":   1,
		"firebolt_engine_phase_transitions_total switching draining": 3,
		"firebolt_engine_phase_transitions_total draining cleaning":  3,
		"firebolt_engine_phase_transitions_total cleaning stable":    2,
		"firebolt_engine_phase_transitions_total cleaning stopped":   1,

		"firebolt_engine_rollouts_total completed": 4, "firebolt_engine_rollouts_total abandoned": 1,
		"firebolt_engine_rollouts_total reverted": 1, "firebolt_engine_rollouts_total rolled_back": 1,
		"firebolt_engine_rollout_duration_seconds completed": 153, "firebolt_engine_rollout_duration_seconds abandoned": 7,
		"firebolt_engine_rollout_duration_seconds reverted": 1, "firebolt_engine_rollout_duration_seconds rolled_back": 2,
		"firebolt_engine_abandoned_generations_total": 3,

		"firebolt_engine_drains_total drained": 1, "firebolt_engine_drains_total expired": 1, "firebolt_engine_drains_total skipped": 1,
		"firebolt_engine_drain_duration_seconds drained": 10, "firebolt_engine_drain_duration_seconds expired": 100,
	}
	if diff := cmp.Diff(want, values(t, registry)); diff != "" {
		t.Errorf("series differ (-want +got):\n%s", diff)
	}
}

func TestRolloutWithoutStartHasNoDuration(t *testing.T) {
	s, registry := registered(t, lists(nil, nil))
	before := v1alpha1.FireboltEngineStatus{Phase: v1alpha1.PhaseDraining, CurrentGeneration: 1, ActiveGeneration: 1}
	after := withTransition(before, v1alpha1.PhaseCleaning, 1, "Drained")
	s.engine(engine(before), engine(after), second(1))
	s.engine(engine(after), engine(withTransition(after, v1alpha1.PhaseStable, 2, "RolledOut")), second(2))
	s.engine(engine(v1alpha1.FireboltEngineStatus{Phase: "made up"}), engine(v1alpha1.FireboltEngineStatus{Phase: v1alpha1.PhaseStable}), second(3))
	want := map[string]float64{
		"firebolt_engine_phase_transitions_total draining cleaning": 1,
		"firebolt_engine_phase_transitions_total cleaning stable":   1,
		"firebolt_engine_phase_transitions_total unknown stable":    1,
		"firebolt_engine_drains_total drained":                      1,
		"firebolt_engine_rollouts_total completed":                  1,
	}
	if diff := cmp.Diff(want, values(t, registry)); diff != "" {
		t.Errorf("series differ (-want +got):\n%s", diff)
	}
}

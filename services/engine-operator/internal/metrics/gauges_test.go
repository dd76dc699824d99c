package metrics

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
)

// drainingEngine returns an engine whose old generation is drained.
func drainingEngine() *v1alpha1.FireboltEngine {
	return engine(v1alpha1.FireboltEngineStatus{
		Phase: v1alpha1.PhaseDraining, CurrentGeneration: 7, ActiveGeneration: 7, DrainingGeneration: new(int64(6)), Replicas: 3, ReadyReplicas: 1,
		Conditions: []metav1.Condition{
			{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonDrainCheckFailing},
			{Type: v1alpha1.ConditionInstanceReady, Status: metav1.ConditionTrue},
			{Type: v1alpha1.ConditionRolloutOverdue, Status: metav1.ConditionTrue},
			{Type: "Available", Status: metav1.ConditionTrue},
		},
	})
}

// readyInstance returns an instance with an external database.
func readyInstance() v1alpha1.FireboltInstance {
	i := v1alpha1.FireboltInstance{}
	i.Namespace, i.Name, i.Spec.ID = key.Namespace, "main", "01H"
	i.Spec.Metadata.Postgres = &v1alpha1.PostgresSpec{}
	i.Status.Phase = v1alpha1.InstanceReady
	i.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue}, {Type: v1alpha1.ConditionMetadataReady, Status: metav1.ConditionTrue}}
	return i
}

func TestGaugesFollowExistingObjects(t *testing.T) {
	var engines []v1alpha1.FireboltEngine
	var instances []v1alpha1.FireboltInstance
	var failure error
	s, registry := registered(t, Lister{
		Engines:   func(context.Context) ([]v1alpha1.FireboltEngine, error) { return engines, failure },
		Instances: func(context.Context) ([]v1alpha1.FireboltInstance, error) { return instances, failure },
	})
	expect := func(want map[string]float64) {
		t.Helper()
		if diff := cmp.Diff(want, values(t, registry)); diff != "" {
			t.Errorf("series differ (-want +got):\n%s", diff)
		}
	}
	expect(map[string]float64{})
	engines = []v1alpha1.FireboltEngine{*engine(v1alpha1.FireboltEngineStatus{})}
	expect(map[string]float64{
		"firebolt_engine_spec_replicas": 2, "firebolt_engine_active_generation": -1, "firebolt_engine_draining_generation": -1,
	})
	if n := testutil.CollectAndCount(s.collector, "firebolt_engine_status_condition"); n != 1 {
		t.Errorf("an engine without conditions has %d series of conditions, Ready alone is known", n)
	}
	engines, instances = []v1alpha1.FireboltEngine{*drainingEngine()}, []v1alpha1.FireboltInstance{readyInstance()}
	s.collector.engines.reconciled(key, second(0))
	throttled := 1
	count := func() int { return throttled }
	s.collector.throttled.Store(&count)
	want := map[string]float64{
		"firebolt_engine_status_phase draining":             1,
		"firebolt_engine_status_condition InstanceReady":    1,
		"firebolt_engine_status_condition RolloutOverdue":   1,
		"firebolt_engine_spec_replicas":                     2,
		"firebolt_engine_active_generation":                 7,
		"firebolt_engine_draining_generation":               6,
		"firebolt_engine_drain_check_failing":               1,
		"firebolt_engine_pods_ready":                        1,
		"firebolt_engine_pods_total":                        3,
		"firebolt_engine_last_reconciled_timestamp_seconds": float64(baseTime.Unix()),
		"firebolt_engine_rollouts_held":                     1,
		"firebolt_instance_status_phase Ready":              1,
		"firebolt_instance_status_condition Ready":          1,
		"firebolt_instance_status_condition MetadataReady":  1,
		"firebolt_instance_info 01H external":               1,
	}
	expect(want)
	failure = errors.New("the cache is not filled")
	expect(map[string]float64{"firebolt_engine_rollouts_held": 1})
	failure = nil
	throttled = 0
	s.collector.engines.forget(key)
	delete(want, "firebolt_engine_rollouts_held")
	delete(want, "firebolt_engine_last_reconciled_timestamp_seconds")
	expect(want)
	engines[0].Status.Conditions[0].Reason = v1alpha1.ReasonRolling // the next check succeeded
	delete(want, "firebolt_engine_drain_check_failing")
	expect(want)
}

// An object that only others hold has no series: no reconcile would renew them, and alerts would fire.
func TestGaugesOmitForgottenObjects(t *testing.T) {
	for name, tc := range map[string]struct {
		deleted    *metav1.Time
		finalizers []string
		want       bool
	}{
		"new":                           {nil, nil, true},
		"existing":                      {nil, []string{v1alpha1.EngineFinalizer, v1alpha1.InstanceFinalizer}, true},
		"terminating":                   {&metav1.Time{Time: second(0)}, []string{"example.com/hold", v1alpha1.EngineFinalizer, v1alpha1.InstanceFinalizer}, true},
		"held by another owner":         {&metav1.Time{Time: second(0)}, []string{"example.com/hold"}, false},
		"deleted in the foreground":     {&metav1.Time{Time: second(0)}, []string{metav1.FinalizerDeleteDependents}, false},
		"with the finalizer of classes": {&metav1.Time{Time: second(0)}, []string{v1alpha1.ClassFinalizer}, false},
	} {
		t.Run(name, func(t *testing.T) {
			e, i := drainingEngine(), readyInstance()
			e.DeletionTimestamp, e.Finalizers = tc.deleted, tc.finalizers
			i.DeletionTimestamp, i.Finalizers = tc.deleted, tc.finalizers
			s, _ := registered(t, lists([]v1alpha1.FireboltEngine{*e}, []v1alpha1.FireboltInstance{i}))
			for _, metric := range []string{"firebolt_engine_spec_replicas", "firebolt_instance_info"} {
				if got := testutil.CollectAndCount(s.collector, metric) > 0; got != tc.want {
					t.Errorf("%s is served: %t, want %t", metric, got, tc.want)
				}
			}
		})
	}
}

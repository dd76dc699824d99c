package superset_test

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/controlplane"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
)

// TestOperatorRecoversAfterEachWrite installs and upgrades a Superset with all kinds of objects, a drain and a
// maintenance page. The operator crashes repeatedly after a number of writes, the first process after a smaller
// number, so that the runs together crash after every write. Each run must end in the state of a run without crashes;
// no task runs twice, and no two tasks run at the same time.
func TestOperatorRecoversAfterEachWrite(t *testing.T) {
	t.Parallel()
	const interval = 4
	baseline := installAndUpgrade(t, 0, 0)
	t.Logf("an operator without crashes makes %d writes", len(baseline.written))
	var mu sync.Mutex
	crashPoints := map[string]bool{}
	t.Run("runs", func(t *testing.T) {
		runs := [][2]int{{1, 1}} // an operator that crashes after each write it makes
		for first := range interval {
			runs = append(runs, [2]int{first, interval})
		}
		for _, run := range runs {
			t.Run(fmt.Sprintf("first after %d writes, then after %d each", run[0], run[1]), func(t *testing.T) {
				t.Parallel()
				j := installAndUpgrade(t, run[0], run[1])
				if diff := cmp.Diff(baseline.end, j.end); diff != "" {
					t.Errorf("final state differs (-without crashes +with crashes):\n%s", diff)
				}
				// The process may crash before it emits an event: no event is emitted twice, but some never.
				for key, n := range j.events {
					if n > baseline.events[key] && key != "Warning ReconcileError" {
						t.Errorf("%d events %s, want at most %d as without crashes", n, key, baseline.events[key])
					}
				}
				mu.Lock()
				defer mu.Unlock()
				maps.Copy(crashPoints, j.crashPoints)
			})
		}
	})
	for _, write := range baseline.written {
		if !crashPoints[write] {
			t.Errorf("no operator crashed after: %s", write)
		}
	}
}

// runResult is the result of an installation and an upgrade.
type runResult struct {
	written     []string
	crashPoints map[string]bool
	events      map[string]int
	end         map[string]any
}

// installAndUpgrade installs and upgrades a Superset. The first operator crashes after the first number of writes, each
// following one after the following number; zero means no crash.
func installAndUpgrade(t *testing.T, first, following int) runResult {
	t.Helper()
	injector := newCrashInjector()
	writes := func(n int) int {
		if following == 0 {
			return math.MaxInt
		}
		return n
	}
	l := newRecordedEnv(t, options{idle: true, wrap: injector.next(writes(first))})
	sup := l.create(full()(l.env))
	advance := func(check func(*v1alpha1.Superset) error) {
		expect.Eventually(t, 2*timeout, func() error {
			_, err := l.reconciler.Reconcile(t.Context(), request(sup))
			if errors.Is(err, errCrash) {
				l.reconciler = l.process(injector.next(following))
				return err
			}
			if err != nil {
				return err
			}
			if err := l.refresh(sup); err != nil {
				return err
			}
			return check(sup)
		})
	}
	injector.setStage("installation")
	advance(settled)
	injector.setStage("upgrade")
	l.edit(sup, image("6.1.0"))
	advance(all(settled, lifecyclePhase(v1alpha1.LifecycleComplete)))
	// The last operator completes the work of a crashed one, such as the deletion of finished Jobs.
	l.reconciler = l.process(nil)
	l.waitIdle(sup)
	l.waitFor(sup, settled)
	checkTaskRuns(t, l)
	return runResult{written: injector.written, crashPoints: injector.crashPoints, events: l.events(), end: finalState(l, sup)}
}

func checkTaskRuns(t *testing.T, l *recordedEnv) {
	t.Helper()
	l.history.checkTasks("migrate")
	want := []string{
		"migrate apache/superset:6.0.0", "init apache/superset:6.0.0",
		"preflight apache/superset:6.1.0", "migrate apache/superset:6.1.0", "init apache/superset:6.1.0",
	}
	if diff := cmp.Diff(want, l.history.tasks(0)); diff != "" {
		t.Errorf("tasks differ (-want +got):\n%s", diff)
	}
	if n := l.requests.matching(`^POST .*/jobs 201$`); n != 5 {
		t.Errorf("%d Jobs were created, want 5", n)
	}
}

// finalState returns the final state of all objects, without values that differ between runs.
func finalState(l *recordedEnv, sup *v1alpha1.Superset) map[string]any {
	l.t.Helper()
	out := map[string]any{}
	for _, list := range []client.ObjectList{
		&appsv1.DeploymentList{}, &batchv1.JobList{}, &corev1.ServiceList{}, &corev1.ConfigMapList{}, &corev1.ServiceAccountList{},
		&policyv1.PodDisruptionBudgetList{}, &autoscalingv2.HorizontalPodAutoscalerList{},
		&networkingv1.IngressList{}, &networkingv1.NetworkPolicyList{},
	} {
		for _, obj := range l.owned(list, sup) {
			raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
			if err != nil {
				l.t.Fatal(err)
			}
			for _, path := range [][]string{{"metadata"}, {"status"}, {"spec", "clusterIP"}, {"spec", "clusterIPs"}} {
				unstructured.RemoveNestedField(raw, path...)
			}
			annotations := maps.Clone(obj.GetAnnotations())
			delete(annotations, "deployment.kubernetes.io/revision")
			out[fmt.Sprintf("%T %s", obj, obj.GetName())] = []any{obj.GetLabels(), annotations, raw}
		}
	}
	status := sup.Status.DeepCopy()
	status.Conditions, status.Transitions = nil, nil
	lc := status.Lifecycle
	lc.LastCompletedChecksums = nil
	checkDowntime(l.t, lc.Downtime)
	lc.Downtime = nil
	for _, entry := range []*v1alpha1.TaskRefStatus{lc.Preflight, lc.Migrate, lc.Init} {
		entry.StartedAt, entry.CompletedAt, entry.DesiredChecksum, entry.CompletedChecksum = nil, nil, "", ""
		entry.Conditions = nil
	}
	out["status"] = status
	for _, e := range sup.Status.Transitions {
		out[fmt.Sprint("transition ", e.Seq)] = e.From + ">" + e.To
	}
	for _, c := range sup.Status.Conditions {
		out["condition "+c.Type] = fmt.Sprint(c.Status, " ", c.Reason, " ", c.ObservedGeneration)
	}
	return out
}

// checkDowntime checks that a downtime has all its times, in order.
func checkDowntime(t *testing.T, d *v1alpha1.DowntimeStatus) {
	t.Helper()
	if d == nil || d.DrainedAt == nil || d.TasksCompletedAt == nil || d.EndedAt == nil {
		t.Errorf("times are missing: %+v", d)
		return
	}
	times := []time.Time{d.StartedAt.Time, d.DrainedAt.Time, d.TasksCompletedAt.Time, d.EndedAt.Time}
	if !slices.IsSortedFunc(times, time.Time.Compare) {
		t.Errorf("times are not in order: %+v", d)
	}
}

// settled checks that all tasks are complete and all components run.
func settled(sup *v1alpha1.Superset) error {
	return all(phase(v1alpha1.PhaseRunning), lifecyclePhase(v1alpha1.LifecycleComplete), func(sup *v1alpha1.Superset) error {
		for _, kind := range []string{"Available", v1alpha1.ConditionLifecycleComplete} {
			c := meta.FindStatusCondition(sup.Status.Conditions, kind)
			if c == nil || c.Status != metav1.ConditionTrue || c.ObservedGeneration != sup.Generation {
				return fmt.Errorf("condition %s is %+v: %s", kind, c, text(sup))
			}
		}
		return nil
	})(sup)
}

func TestFailingTaskIsRetriedAndThenFails(t *testing.T) {
	t.Parallel()
	clk := clocktesting.NewFakePassiveClock(time.Now())
	e := start(t, options{idle: true, clock: clk})
	sup := e.create(e.sample("development.yaml", func(s *v1alpha1.Superset) {
		s.Spec.Lifecycle.Migrate = &v1alpha1.MigrateTaskSpec{BaseTaskSpec: v1alpha1.BaseTaskSpec{MaxRetries: new(int32(2))}}
		s.Spec.Lifecycle.PodTemplate = &v1alpha1.PodTemplate{Annotations: map[string]string{
			controlplane.FinishAfterAnnotation: "100ms", controlplane.ExitCodeAnnotation: "3",
		}}
	}))
	migrate := func(state v1alpha1.TaskState, attempts int32) func(*v1alpha1.Superset) error {
		return func(s *v1alpha1.Superset) error {
			if lc := s.Status.Lifecycle; lc == nil || lc.Migrate.State != state || lc.Migrate.Attempts != attempts {
				return fmt.Errorf("lifecycle %+v", lc)
			}
			return nil
		}
	}
	e.reconcileUntil(sup, nil, migrate(v1alpha1.TaskPending, 1))
	entry := sup.Status.Lifecycle.Migrate
	if entry.NextAttemptAt == nil || entry.Message == "" {
		t.Fatalf("after the first failure: %+v", entry)
	}
	first := get(e, "development-migrate", &batchv1.Job{})
	if result, err := e.reconciler.Reconcile(t.Context(), request(sup)); err != nil || result.RequeueAfter <= 0 {
		t.Errorf("want a requeue for the next attempt, got %+v, %v", result, err)
	}
	clk.SetTime(entry.NextAttemptAt.Add(time.Second))
	e.reconcileUntil(sup, nil, migrate(v1alpha1.TaskFailed, 2))
	second := get(e, "development-migrate", &batchv1.Job{})
	if first.UID == second.UID {
		t.Error("the second attempt reused the Job of the first one")
	}
	if sup.Status.Phase != v1alpha1.PhaseBlocked || sup.Status.Lifecycle.Init.State != v1alpha1.TaskPending {
		t.Errorf("phase %s, init %+v", sup.Status.Phase, sup.Status.Lifecycle.Init)
	}
	var pods corev1.PodList
	if err := e.client.List(t.Context(), &pods, client.InNamespace(e.namespace),
		client.MatchingLabels{v1alpha1.LabelTask: "migrate"}); err != nil || len(pods.Items) != 1 {
		t.Errorf("%d pods of the task, want only the one of the last attempt (%v)", len(pods.Items), err)
	}

	// Other pod settings retry the task.
	e.edit(sup, func(s *v1alpha1.Superset) {
		s.Spec.Lifecycle.PodTemplate = &v1alpha1.PodTemplate{TerminationGracePeriodSeconds: new(int64(5))}
	})
	e.reconcileUntil(sup, nil, settled)
}

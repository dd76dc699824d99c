package superset_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/controlplane"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
)

// TestACrashBetweenAnyTwoWritesChangesNothing lets the operator die after each
// number of writes and a new one take over. The end is always the same, and no
// task ever runs twice.
func TestACrashBetweenAnyTwoWritesChangesNothing(t *testing.T) {
	total := writesToRunning(t)
	for writes := range total {
		t.Run(fmt.Sprintf("after %d of %d writes", writes, total), func(t *testing.T) {
			t.Parallel()
			_, wrap := mortalAfter(int64(writes))
			b := start(t, options{idle: true, wrap: wrap})
			sup := b.create(b.sample("development.yaml"))
			b.drive(sup, errCrash, settled)
			b.reconciler = b.process(nil)
			b.drive(sup, nil, settled)
			checkEnd(t, b, sup)
		})
	}
}

// writesToRunning counts the writes of an undisturbed run.
func writesToRunning(t *testing.T) int {
	const plenty = 1000
	left, wrap := mortalAfter(plenty)
	b := start(t, options{idle: true, wrap: wrap})
	sup := b.create(b.sample("development.yaml"))
	b.drive(sup, nil, settled)
	checkEnd(t, b, sup)
	return plenty - int(left.Load())
}

// settled is Running with the finished Jobs cleaned up.
func settled(sup *v1alpha1.Superset) error {
	for _, c := range sup.Status.Conditions {
		if c.Type == "Available" && c.Status == metav1.ConditionTrue {
			return phase(v1alpha1.PhaseRunning)(sup)
		}
	}
	return fmt.Errorf("not available yet: %s", sup.Status.Phase)
}

func checkEnd(t *testing.T, b *bed, sup *v1alpha1.Superset) {
	t.Helper()
	if diff := cmp.Diff(wantStatus(sup), sup.Status, cmp.FilterPath(variable, cmp.Ignore())); diff != "" {
		t.Errorf("status differs (-want +got):\n%s", diff)
	}
	for _, e := range sup.Status.Transitions {
		if e.To != string(v1alpha1.PhaseInitializing) && e.To != string(v1alpha1.PhaseRunning) {
			t.Errorf("transition to %s", e.To)
		}
	}
	if n := b.requests.matching(`^POST .*/jobs 201$`); n != 2 {
		t.Errorf("%d Jobs were made instead of 2:\n%v", n, b.requests.list())
	}
}

func TestADecisionFromAnOldCacheRunsNothing(t *testing.T) {
	old := &atomic.Pointer[func(client.Object)]{}
	b := start(t, options{idle: true})
	sup := b.create(b.sample("development.yaml"))
	b.drive(sup, nil, func(s *v1alpha1.Superset) error {
		if s.Status.Lifecycle == nil || s.Status.Lifecycle.Migrate.State != v1alpha1.TaskRunning {
			return errors.New("migrate does not run yet")
		}
		return nil
	})
	early := sup.DeepCopy()
	b.drive(sup, nil, settled)
	jobs := b.requests.matching(`^POST .*/jobs 201$`)

	// A new process whose cache still shows migrate as running, while its Job is long gone.
	b.reconciler = b.process(func(c client.Client) client.Client { return rewound{c, old} })
	rewind := func(obj client.Object) {
		if s, ok := obj.(*v1alpha1.Superset); ok {
			early.DeepCopyInto(s)
		}
	}
	old.Store(&rewind)
	for range 3 {
		result, err := b.reconciler.Reconcile(t.Context(), request(sup))
		if err != nil || result.RequeueAfter == 0 {
			t.Fatalf("want another try, got %+v, %v", result, err)
		}
	}
	if n := b.requests.matching(`^POST .*/jobs 201$`); n != jobs {
		t.Fatalf("%d more Jobs were made from an old decision", n-jobs)
	}
	old.Store(nil)
	b.drive(sup, nil, settled)
	if n := b.requests.matching(`^POST .*/jobs 201$`); n != jobs {
		t.Errorf("%d more Jobs were made afterwards", n-jobs)
	}
}

func TestAnEditDuringAReconcileIsNotOverwritten(t *testing.T) {
	b := start(t, options{idle: true})
	sup := b.create(b.sample("development.yaml"))
	b.drive(sup, nil, settled)
	edited := &atomic.Bool{}
	meddle := func(c client.Client) client.Client {
		return meddler{c, func() {
			if edited.CompareAndSwap(false, true) {
				b.edit(sup, func(s *v1alpha1.Superset) { s.Spec.Suspend = ptr(true) })
			}
		}}
	}
	b.reconciler = b.process(meddle)
	b.edit(sup, func(s *v1alpha1.Superset) { s.Spec.Image.Tag = "6.0.1" })
	jobs := b.requests.matching(`^POST .*/jobs 201$`)
	b.drive(sup, nil, phase(v1alpha1.PhaseSuspended))
	if !edited.Load() {
		t.Fatal("the edit came too late")
	}
	if n := b.requests.matching(`^POST .*/jobs 201$`); n != jobs {
		t.Errorf("a task began although the Superset was suspended meanwhile")
	}
}

// meddler does something just before the first status write.
type meddler struct {
	client.Client
	meddle func()
}

func (m meddler) Status() client.SubResourceWriter {
	m.meddle()
	return m.Client.Status()
}

func TestAFailingTaskIsTriedAgainAndThenGivenUp(t *testing.T) {
	clk := clocktesting.NewFakePassiveClock(time.Now())
	b := start(t, options{idle: true, clock: clk})
	sup := b.create(b.sample("development.yaml", func(s *v1alpha1.Superset) {
		s.Spec.Lifecycle.Migrate = &v1alpha1.MigrateTaskSpec{BaseTaskSpec: v1alpha1.BaseTaskSpec{MaxRetries: ptr(int32(2))}}
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
	b.drive(sup, nil, migrate(v1alpha1.TaskPending, 1))
	slot := sup.Status.Lifecycle.Migrate
	if slot.NextAttemptAt == nil || slot.Message == "" {
		t.Fatalf("after the first failure: %+v", slot)
	}
	first := get(b, "development-migrate", &batchv1.Job{})
	if result, err := b.reconciler.Reconcile(t.Context(), request(sup)); err != nil || result.RequeueAfter <= 0 {
		t.Errorf("want a wait for the next attempt, got %+v, %v", result, err)
	}
	clk.SetTime(slot.NextAttemptAt.Add(time.Second))
	b.drive(sup, nil, migrate(v1alpha1.TaskFailed, 2))
	second := get(b, "development-migrate", &batchv1.Job{})
	if first.UID == second.UID {
		t.Error("the second attempt used the first one's Job")
	}
	if sup.Status.Phase != v1alpha1.PhaseInitializing || sup.Status.Lifecycle.Init.State != v1alpha1.TaskPending {
		t.Errorf("phase %s, init %+v", sup.Status.Phase, sup.Status.Lifecycle.Init)
	}
	var pods corev1.PodList
	if err := b.client.List(t.Context(), &pods, client.InNamespace(b.namespace),
		client.MatchingLabels{v1alpha1.LabelTask: "migrate"}); err != nil || len(pods.Items) != 1 {
		t.Errorf("%d pods of the task instead of the last attempt's (%v)", len(pods.Items), err)
	}

	// Other pod settings rescue it.
	b.edit(sup, func(s *v1alpha1.Superset) {
		s.Spec.Lifecycle.PodTemplate = &v1alpha1.PodTemplate{TerminationGracePeriodSeconds: ptr(int64(5))}
	})
	b.drive(sup, nil, settled)
}

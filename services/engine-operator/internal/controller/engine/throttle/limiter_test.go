package throttle

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/conditions/transition"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
)

var testTime = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// listed is a fake cache of the engines that are between two generations.
type listed struct {
	client.Reader
	engines []v1alpha1.FireboltEngine
	classes map[client.ObjectKey]v1alpha1.FireboltEngineClass
	err     error // of the classes
}

func (l *listed) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	class, known := l.classes[key]
	out, ok := into.(*v1alpha1.FireboltEngineClass)
	switch {
	case l.err != nil:
		return l.err
	case !known || !ok:
		return apierrors.NewNotFound(v1alpha1.GroupVersion.WithResource("fireboltengineclasses").GroupResource(), key.Name)
	}
	*out = class
	return nil
}

func (l *listed) List(_ context.Context, into client.ObjectList, _ ...client.ListOption) error {
	list, ok := into.(*v1alpha1.FireboltEngineList)
	if ok {
		list.Items = l.engines
	}
	return nil
}

func rollingEngine(namespace, name string, phase v1alpha1.EnginePhase, since time.Duration) v1alpha1.FireboltEngine {
	e := v1alpha1.FireboltEngine{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(namespace + "/" + name)}}
	e.Status.Phase = phase
	e.Status.Transitions = []transition.Entry{{To: string(phase), Time: metav1.NewTime(testTime.Add(-since))}}
	e.Status.RolloutStartedAt = &metav1.Time{Time: testTime.Add(-since)}
	return e
}

func acquires(t *testing.T, l *Limiter, e v1alpha1.FireboltEngine) bool {
	t.Helper()
	acquired, _, err := l.Acquire(t.Context(), &e, 7)
	if err != nil {
		t.Fatal(err)
	}
	return acquired
}

// A rollout that hangs for any reason takes no slot from others.
func TestStuckRolloutTakesNoSlot(t *testing.T) {
	overdue := rollingEngine("a", "overdue", v1alpha1.PhaseCreating, time.Second)
	overdue.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionRolloutOverdue, Status: metav1.ConditionTrue}}
	shortDeadline := rollingEngine("a", "short", v1alpha1.PhaseCreating, 10*time.Second)
	shortDeadline.Spec.ProgressDeadline = &metav1.Duration{Duration: 5 * time.Second}
	noDeadline := rollingEngine("a", "forever", v1alpha1.PhaseCreating, time.Hour)
	noDeadline.Spec.ProgressDeadline = &metav1.Duration{}
	cases := map[string]struct {
		other    v1alpha1.FireboltEngine
		acquired bool
	}{
		"one that advances":                       {rollingEngine("a", "x", v1alpha1.PhaseCreating, time.Minute), false},
		"one that switches":                       {rollingEngine("a", "x", v1alpha1.PhaseSwitching, time.Minute), false},
		"one that drains for a moment":            {rollingEngine("a", "x", v1alpha1.PhaseDraining, 30*time.Second), false},
		"one whose queries do not end":            {rollingEngine("a", "x", v1alpha1.PhaseDraining, 2*time.Minute), true},
		"one whose pods do not start":             {rollingEngine("a", "x", v1alpha1.PhaseCreating, 16*time.Minute), true},
		"one whose old generation does not go":    {rollingEngine("a", "x", v1alpha1.PhaseCleaning, 16*time.Minute), true},
		"one that is overdue":                     {overdue, true},
		"one beyond its own deadline":             {shortDeadline, true},
		"one that may take as long as it likes":   {noDeadline, true},
		"one in another namespace that advances":  {rollingEngine("b", "x", v1alpha1.PhaseCreating, time.Minute), false},
		"one in another namespace that hangs too": {rollingEngine("b", "x", v1alpha1.PhaseDraining, time.Hour), true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			limiter := New(1, &listed{engines: []v1alpha1.FireboltEngine{tc.other}}, clocktesting.NewFakePassiveClock(testTime))
			if got := acquires(t, limiter, rollingEngine("a", "me", v1alpha1.PhaseStable, 0)); got != tc.acquired {
				t.Errorf("it is my turn: %t, want %t", got, tc.acquired)
			}
		})
	}
}

// The deadline of a rollout is that of the engine, or of its class.
func TestRolloutProgressesWithinItsDeadline(t *testing.T) {
	deadline := func(d time.Duration) *metav1.Duration { return &metav1.Duration{Duration: d} }
	const creating, cleaning, draining = v1alpha1.PhaseCreating, v1alpha1.PhaseCleaning, v1alpha1.PhaseDraining
	cases := map[string]struct {
		own, class *metav1.Duration
		phase      v1alpha1.EnginePhase
		age        time.Duration
		progresses bool
	}{
		"within a long deadline of the class":            {nil, deadline(time.Hour), creating, 59 * time.Minute, true},
		"beyond a long deadline of the class":            {nil, deadline(time.Hour), creating, time.Hour, false},
		"within a long deadline of the engine":           {deadline(time.Hour), nil, cleaning, 59 * time.Minute, true},
		"beyond a short deadline of the class":           {nil, deadline(time.Minute), creating, 2 * time.Minute, false},
		"the engine's deadline replaces the class's":     {deadline(time.Minute), deadline(time.Hour), creating, 2 * time.Minute, false},
		"the engine's longer one does too":               {deadline(time.Hour), deadline(time.Minute), creating, 2 * time.Minute, true},
		"a class without a deadline":                     {nil, nil, creating, 14 * time.Minute, true},
		"a class without a deadline, beyond the default": {nil, nil, creating, 15 * time.Minute, false},
		"a class whose deadline is zero":                 {nil, deadline(0), creating, 15 * time.Minute, false},
		"an engine whose deadline is zero":               {deadline(0), deadline(time.Hour), creating, 15 * time.Minute, false},
		"a drain longer than a minute":                   {nil, deadline(time.Hour), draining, 2 * time.Minute, false},
		"a drain longer than a short deadline":           {nil, deadline(10 * time.Second), draining, 20 * time.Second, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			other := rollingEngine("a", "x", tc.phase, tc.age)
			other.Spec.EngineClassRef, other.Spec.ProgressDeadline = new("c"), tc.own
			class := v1alpha1.FireboltEngineClass{}
			class.Spec.ProgressDeadline = tc.class
			cache := &listed{
				engines: []v1alpha1.FireboltEngine{other},
				classes: map[client.ObjectKey]v1alpha1.FireboltEngineClass{{Namespace: "a", Name: "c"}: class},
			}
			limiter := New(1, cache, clocktesting.NewFakePassiveClock(testTime))
			if got := acquires(t, limiter, rollingEngine("a", "me", v1alpha1.PhaseStable, 0)); got == tc.progresses {
				t.Errorf("it is my turn: %t, want %t", got, !tc.progresses)
			}
		})
	}
}

// An engine whose class was deleted has the default deadline; a failed read gives no slot.
func TestDeadlineWithoutClass(t *testing.T) {
	other := rollingEngine("a", "x", v1alpha1.PhaseCreating, 16*time.Minute)
	other.Spec.EngineClassRef = new("deleted")
	cache := &listed{engines: []v1alpha1.FireboltEngine{other}}
	limiter := New(1, cache, clocktesting.NewFakePassiveClock(testTime))
	me := rollingEngine("a", "me", v1alpha1.PhaseStable, 0)
	cache.err = errors.New("cache is not started")
	if acquired, _, err := limiter.Acquire(t.Context(), &me, 7); acquired || !errors.Is(err, cache.err) {
		t.Errorf("acquired = %t, error = %v, want %v", acquired, err, cache.err)
	}
	cache.err = nil
	if !acquires(t, limiter, me) {
		t.Error("a rollout beyond the default deadline takes the slot")
	}
}

// An engine waits while one waits in a namespace with fewer rollouts.
func TestNamespacesShareSlotsFairly(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(testTime)
	cache := &listed{engines: []v1alpha1.FireboltEngine{rollingEngine("big", "1", v1alpha1.PhaseCreating, 0), rollingEngine("big", "2", v1alpha1.PhaseCreating, 0)}}
	limiter := New(2, cache, clock)
	if acquires(t, limiter, rollingEngine("small", "a", v1alpha1.PhaseStable, 0)) {
		t.Fatal("a third engine rolls out, two may")
	}
	cache.engines = cache.engines[:1] // one is finished
	if acquires(t, limiter, rollingEngine("big", "3", v1alpha1.PhaseStable, 0)) {
		t.Error("big takes a turn while small waits, in which none rolls out")
	}
	if !acquires(t, limiter, rollingEngine("small", "a", v1alpha1.PhaseStable, 0)) {
		t.Error("small gets no slot")
	}
	limiter.Release("small/a")
	if !acquires(t, limiter, rollingEngine("big", "3", v1alpha1.PhaseStable, 0)) {
		t.Error("big is the only one waiting and gets no slot")
	}
	limiter.Release("big/3")
	acquires(t, New(2, cache, clock), rollingEngine("small", "b", v1alpha1.PhaseStable, 0))
	cache.engines = append(cache.engines, rollingEngine("big", "2", v1alpha1.PhaseCreating, 0))
	acquires(t, limiter, rollingEngine("small", "gone", v1alpha1.PhaseStable, 0))
	cache.engines = cache.engines[:1]
	clock.SetTime(testTime.Add(time.Minute))
	if !acquires(t, limiter, rollingEngine("big", "3", v1alpha1.PhaseStable, 0)) {
		t.Error("big waits for an engine that no longer exists")
	}
}

// The order of namespaces in which no engine waits uses no memory: they may be created and deleted for years.
func TestLimiterForgetsIdleNamespaces(t *testing.T) {
	limiter := New(1, &listed{}, clocktesting.NewFakePassiveClock(testTime))
	for n := range 100 {
		e := rollingEngine(fmt.Sprintf("n%d", n), "a", v1alpha1.PhaseStable, 0)
		if !acquires(t, limiter, e) {
			t.Fatalf("%s gets no slot", e.UID)
		}
		limiter.Release(e.UID)
	}
	if n := len(limiter.latest); n != 1 {
		t.Errorf("the limiter has the order of %d namespaces, want only the latest one", n)
	}
}

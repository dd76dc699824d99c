package integration

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/app"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
)

// Defect 5: pods that were ready once are checked again before traffic moves.
func TestDefect5FailedPodsGetNoTraffic(t *testing.T) {
	t.Parallel()
	s := newTestEnv(t)
	e := engineOf("a", 2)
	s.create(e)
	s.waitForRollout(e, v1alpha1.PhaseStable, 0)
	s.stopAndWait()
	s.edit(e, func(e *v1alpha1.FireboltEngine) { e.Spec.Template = template("example.com/engine:2.0") })
	s.crashAfter("status switching")
	s.fail("a-g1-0", "CrashLoopBackOff")
	served := s.watchRoute(e)
	s.run()
	expect.Object(t, s.api, e, func(e *v1alpha1.FireboltEngine) error {
		for _, tr := range e.Status.Transitions {
			if tr.Reason == "NoLongerReady" {
				return nil
			}
		}
		return fmt.Errorf("phases %s", phases(e))
	})
	s.keepsRoute("0")
	s.fail("a-g1-0", "")
	s.waitForRollout(e, v1alpha1.PhaseStable, 1)
	if problems := served(); len(problems) > 0 {
		t.Error(strings.Join(problems, "; "))
	}
}

// fail makes a simulated pod fail in the given way, or recover.
func (s *testEnv) fail(pod, failure string) {
	s.t.Helper()
	p := &corev1.Pod{}
	if err := s.api.Get(s.t.Context(), client.ObjectKey{Namespace: s.namespace, Name: pod}, p); err != nil {
		s.t.Fatal(err)
	}
	before := p.DeepCopy()
	if p.Annotations == nil {
		p.Annotations = map[string]string{}
	}
	p.Annotations["simulate.flotilla.dev/fail"] = failure
	if failure == "" {
		delete(p.Annotations, "simulate.flotilla.dev/fail")
	}
	if err := s.api.Patch(s.t.Context(), p, client.MergeFrom(before)); err != nil {
		s.t.Fatal(err)
	}
	expect.Object(s.t, s.api, p, func(p *corev1.Pod) error {
		if ready(*p) != (failure == "") {
			return fmt.Errorf("ready %t", ready(*p))
		}
		return nil
	})
}

// Defect 10: an evicted pod and its replacement do not exceed the desired number.
func TestDefect10EvictedPodDelaysNothing(t *testing.T) {
	t.Parallel()
	s := newTestEnv(t)
	e := engineOf("a", 2)
	s.create(e)
	s.waitForRollout(e, v1alpha1.PhaseStable, 0)
	evicted := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "a-g0-evicted", Labels: names.GenerationLabels("a", 0)},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "engine", Image: "i"}}, SchedulerName: "nobody"},
	}
	s.create(evicted)
	evicted.Status.Phase, evicted.Status.Reason = corev1.PodFailed, "Evicted"
	if err := s.api.Status().Update(t.Context(), evicted); err != nil {
		t.Fatal(err)
	}
	expect.Eventually(t, expect.Long, func() error {
		if err := s.api.Get(t.Context(), client.ObjectKeyFromObject(e), e); err != nil {
			return err
		}
		if e.Status.Replicas != 2 || e.Status.ReadyReplicas != 2 {
			return fmt.Errorf("%d pods, %d ready", e.Status.Replicas, e.Status.ReadyReplicas)
		}
		return nil
	})
	expect.Condition(t, s.api, e, v1alpha1.ConditionReady, metav1.ConditionTrue)
}

// lines collects the operator's log.
type lines struct {
	mu  sync.Mutex
	all []string
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, strings.TrimSpace(string(p)))
	return len(p), nil
}

func (l *lines) reset() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := l.all
	l.all = nil
	return out
}

// Defect 13: reconciles without a change emit no events; permissions are minimal; the
// webhooks are enabled by default.
func TestDefect13DefaultsMinimizeEventsAndPermissions(t *testing.T) {
	t.Parallel()
	s := newTestEnv(t)
	e := engineOf("a", 1)
	s.create(e)
	s.waitForRollout(e, v1alpha1.PhaseStable, 0)
	expect.Condition(t, s.api, e, "Progressing", metav1.ConditionFalse)
	expect.Condition(t, s.api, e, "Upgradable", metav1.ConditionTrue)
	s.logged.reset()
	for i := range 5 { // each enqueues the object, without effect
		s.edit(e, func(e *v1alpha1.FireboltEngine) { e.Annotations = map[string]string{"note": fmt.Sprint(i)} })
	}
	expect.Never(t, short, func() error {
		if logged := s.logged.reset(); len(logged) > 0 {
			return fmt.Errorf("logged: %s", strings.Join(logged, "\n"))
		}
		return nil
	})

	role := &rbacv1.ClusterRole{}
	if err := convert(manifests(t, "../config/rbac/role.yaml")[0].Object, role); err != nil {
		t.Fatal(err)
	}
	for _, rule := range role.Rules {
		for _, list := range [][]string{rule.APIGroups, rule.Resources, rule.Verbs} {
			if slices.Contains(list, "*") {
				t.Errorf("a wildcard in %+v", rule)
			}
		}
		if slices.Contains(rule.Resources, "secrets") && slices.ContainsFunc(rule.Verbs, func(v string) bool {
			return v == "list" || v == "watch" || v == "delete" || v == "update" || v == "deletecollection"
		}) {
			t.Errorf("Secrets may be %v", rule.Verbs)
		}
	}
	flags := pflag.NewFlagSet("engine-operator", pflag.ContinueOnError)
	app.Spec().Flags(flags)
	if f := flags.Lookup("enable-webhooks"); f == nil || f.DefValue != "true" {
		t.Errorf("--enable-webhooks: %+v", f)
	}
}

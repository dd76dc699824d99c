package integration

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
)

// The operator is stopped as soon as it has recorded a phase, and restarted.
func TestOperatorResumesInEachPhase(t *testing.T) {
	t.Parallel()
	s := newTestEnv(t)
	e := engineOf("a", 2)
	s.create(e)
	s.waitForRollout(e, v1alpha1.PhaseStable, 0)
	served := s.watchRoute(e)
	for i, phase := range []v1alpha1.EnginePhase{v1alpha1.PhaseCreating, v1alpha1.PhaseSwitching, v1alpha1.PhaseDraining, v1alpha1.PhaseCleaning} {
		s.edit(e, func(e *v1alpha1.FireboltEngine) {
			e.Spec.Template = template(fmt.Sprintf("example.com/engine:%d", i))
			e.Spec.DrainCheckEnabled = new(phase == v1alpha1.PhaseDraining) // without a check the phase is skipped
		})
		want := int64(i + 1)
		expect.Object(t, s.api, e, func(e *v1alpha1.FireboltEngine) error {
			if e.Status.CurrentGeneration == want && strings.Contains(phases(e), string(phase)) {
				return nil
			}
			return fmt.Errorf("phase %s, current g%d", e.Status.Phase, e.Status.CurrentGeneration)
		})
		s.stopAndWait()
		s.run()
		s.waitForRollout(e, v1alpha1.PhaseStable, want)
	}
	if problems := served(); len(problems) > 0 {
		t.Errorf("while restarting: %s", strings.Join(problems, "; "))
	}
	if diff := cmp.Diff([]string{"a-g4", "a-g4-config", "a-g4-hl", "a-service"}, s.children(e)); diff != "" {
		t.Errorf("children (-want +got):\n%s", diff)
	}
	if e.Status.LastAllocatedGeneration == nil || *e.Status.LastAllocatedGeneration != 4 {
		t.Errorf("lastAllocatedGeneration = %v, one number per change was expected", e.Status.LastAllocatedGeneration)
	}
}

// Defaults of the API server are not drift: each of these fields is stored differently
// from the rendering.
func TestDefaultedFieldsAreNotDrift(t *testing.T) {
	t.Parallel()
	s := newTestEnv(t)
	e := engineOf("a", 1)
	e.Spec.Storage.HostPath = &v1alpha1.EngineHostPathStorage{Path: "/data"}
	e.Spec.Template = &corev1.PodTemplateSpec{}
	raw := `
metadata: {labels: {team: shop}, annotations: {note: x}}
spec:
  serviceAccountName: default
  tolerations: [{key: a, operator: Exists}]
  topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway, labelSelector: {}}]
  imagePullSecrets: [{name: pull}]
  hostAliases: [{ip: 10.0.0.1, hostnames: [h]}]
  volumes: [{name: v, configMap: {name: c, optional: true}}, {name: p, projected: {sources: [{serviceAccountToken: {path: t}}]}}]
  initContainers:
    - {name: init, image: i, env: [{name: MINE, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]}
  containers:
    - name: engine
      env: [{name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}]
      resources: {requests: {cpu: 1000m, memory: 1024Mi}, limits: {memory: 1Gi}}
      lifecycle: {preStop: {httpGet: {path: /x, port: 8122}}}
      volumeMounts: [{name: v, mountPath: /v}]
    - name: agent
      image: a
      livenessProbe: {grpc: {port: 1}}
      resources: {requests: {cpu: 1000m, memory: 1024Mi}}
`
	u := parse(t, "t:\n"+indent(raw))
	if err := convert(u.Object["t"], e.Spec.Template); err != nil {
		t.Fatal(err)
	}
	withClaim := engineOf("b", 1)
	withClaim.Spec.Storage.PersistentVolumeClaim = &v1alpha1.EnginePVCStorage{Size: resource.MustParse("1024Mi")}
	s.volume("1Gi")
	for _, e := range []*v1alpha1.FireboltEngine{e, withClaim} {
		s.create(e)
		s.waitForRollout(e, v1alpha1.PhaseStable, 0)
		expect.Condition(t, s.api, e, "Available", metav1.ConditionTrue)
		expect.Condition(t, s.api, e, "Progressing", metav1.ConditionFalse)
	}
	s.checkRestartWritesNothing(2 * short)
	// A manual edit is drift.
	set := &appsv1.StatefulSet{}
	if err := s.api.Get(t.Context(), client.ObjectKey{Namespace: s.namespace, Name: "a-g0"}, set); err != nil {
		t.Fatal(err)
	}
	set.Spec.Template.Spec.Containers[0].Image = "example.com/other:1"
	if err := s.api.Update(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	s.waitForRollout(e, v1alpha1.PhaseStable, 1)
}

func TestOldGenerationStaysUntilQueriesEnd(t *testing.T) {
	t.Parallel()
	s := newTestEnv(t)
	e := engineOf("a", 1)
	e.Spec.DrainCheckEnabled = nil
	e.Spec.DrainCheckInterval = &metav1.Duration{Duration: 100_000_000}
	s.create(e)
	s.waitForRollout(e, v1alpha1.PhaseStable, 0)
	s.queries.failing.Store(true)
	s.edit(e, func(e *v1alpha1.FireboltEngine) { e.Spec.Template = template("example.com/engine:2.0") })
	if c := waitReason(t, s, e, v1alpha1.ReasonDrainCheckFailing); c.Status != metav1.ConditionFalse {
		t.Errorf("Ready = %+v", c)
	}
	expect.Condition(t, s.api, e, "Available", metav1.ConditionTrue)
	s.queries.running.Store(3)
	s.queries.failing.Store(false)
	waitReason(t, s, e, v1alpha1.ReasonRolling)
	scrapes := s.queries.scrapes.Load()
	expect.Eventually(t, expect.Long, func() error {
		if s.queries.scrapes.Load() < scrapes+20 {
			return fmt.Errorf("queried %d times", s.queries.scrapes.Load())
		}
		return nil
	})
	if got := s.children(e); got[0] != "a-g0" {
		t.Fatalf("generation 0 was deleted while it has queries: %v", got)
	}
	s.queries.running.Store(0)
	s.waitForRollout(e, v1alpha1.PhaseStable, 1)
	if diff := cmp.Diff([]string{"a-g1", "a-g1-config", "a-g1-hl", "a-service"}, s.children(e)); diff != "" {
		t.Errorf("children (-want +got):\n%s", diff)
	}
}

func waitReason(t *testing.T, s *testEnv, e *v1alpha1.FireboltEngine, reason string) metav1.Condition {
	t.Helper()
	var found metav1.Condition
	expect.Object(t, s.api, e, func(e *v1alpha1.FireboltEngine) error {
		c := meta.FindStatusCondition(e.Status.Conditions, v1alpha1.ConditionReady)
		if c == nil || c.Reason != reason {
			return fmt.Errorf("Ready = %+v", c)
		}
		found = *c
		return nil
	})
	return found
}

func TestEngineDeletionRemovesChildrenInOrder(t *testing.T) {
	t.Parallel()
	s := newTestEnv(t)
	e := engineOf("a", 1)
	s.create(e)
	s.waitForRollout(e, v1alpha1.PhaseStable, 0)
	i := instance("shop")
	s.remove(i)
	expect.Object(t, s.api, i, func(i *v1alpha1.FireboltInstance) error {
		c := meta.FindStatusCondition(i.Status.Conditions, v1alpha1.ConditionReady)
		if c == nil || c.Reason != v1alpha1.ReasonDeletionBlocked {
			return fmt.Errorf("Ready = %+v", c)
		}
		return nil
	})
	s.remove(e)
	expect.Deleted(t, s.api, e)
	expect.Deleted(t, s.api, i)
	expect.Eventually(t, expect.Long, func() error {
		if got := s.children(e); len(got) > 0 {
			return fmt.Errorf("remaining objects: %v", got)
		}
		return nil
	})
}

// Defect 3: a finalizer is never added to a terminating object.
func TestDefect3TerminatingEngineGetsNoFinalizer(t *testing.T) {
	t.Parallel()
	s := newTestEnv(t)
	e := engineOf("a", 1)
	e.Finalizers = []string{"example.com/hold"}
	s.create(e)
	s.waitForRollout(e, v1alpha1.PhaseStable, 0)
	s.remove(e)
	expect.Object(t, s.api, e, func(e *v1alpha1.FireboltEngine) error {
		if len(e.Finalizers) != 1 {
			return fmt.Errorf("finalizers %v", e.Finalizers)
		}
		return nil
	})
	s.checkUnchanged(e)
	s.edit(e, func(e *v1alpha1.FireboltEngine) { e.Finalizers = nil })
	expect.Deleted(t, s.api, e)
}

// checkUnchanged fails the test if the object changes from now on. Writes of the operator from a stale
// cache do not count: the API server rejects them.
func (s *testEnv) checkUnchanged(o client.Object) {
	s.t.Helper()
	version := o.GetResourceVersion()
	expect.Never(s.t, 2*short, func() error {
		if err := s.api.Get(s.t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
		if o.GetResourceVersion() != version {
			return fmt.Errorf("changed from version %s to %s, finalizers %v", version, o.GetResourceVersion(), o.GetFinalizers())
		}
		return nil
	})
}

func TestEngineWaitsForInstanceAndClass(t *testing.T) {
	t.Parallel()
	s := newTestEnv(t)
	e := engineOf("a", 1)
	e.Spec.InstanceRef, e.Spec.EngineClassRef = "later", new("large")
	s.create(e)
	waitReason(t, s, e, v1alpha1.ReasonInstanceNotReady)
	s.create(instance("later"))
	waitReason(t, s, e, v1alpha1.ReasonEngineClassUnready)
	if got := s.children(e); len(got) > 0 {
		t.Errorf("built before its inputs were there: %v", got)
	}
	class := &v1alpha1.FireboltEngineClass{ObjectMeta: metav1.ObjectMeta{Name: "large"}}
	class.Spec.Template = *template("example.com/class:1.0")
	s.create(class)
	s.waitForRollout(e, v1alpha1.PhaseStable, 0)
	if e.Status.DeployedVersion != "example.com/class:1.0" {
		t.Errorf("deployedVersion = %q", e.Status.DeployedVersion)
	}
	s.editClass(class, func(c *v1alpha1.FireboltEngineClass) { c.Spec.Template = *template("example.com/class:2.0") })
	s.waitForRollout(e, v1alpha1.PhaseStable, 1)
}

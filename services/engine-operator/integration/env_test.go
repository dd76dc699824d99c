package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
)

// testEnv is a namespace with a ready instance and a running operator.
type testEnv struct {
	*operator
	api client.Client
}

func newTestEnv(t *testing.T) *testEnv {
	t.Helper()
	s := &testEnv{api: apiServer(t)}
	s.operator = start(t, cluster.Get(t).Namespace(t))
	s.create(credentials())
	i := instance("shop")
	s.create(i)
	expect.Condition(t, s.api, i, v1alpha1.ConditionReady, metav1.ConditionTrue)
	s.requests.reset()
	return s
}

// credentials returns the Secret that instance refers to.
func credentials() *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "db"},
		StringData: map[string]string{"username": "u", "password": "p"},
	}
}

func instance(name string) *v1alpha1.FireboltInstance {
	return &v1alpha1.FireboltInstance{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.FireboltInstanceSpec{Metadata: v1alpha1.MetadataSpec{Postgres: &v1alpha1.PostgresSpec{
			Host: "db", Database: "d", CredentialsSecretRef: corev1.LocalObjectReference{Name: "db"},
		}}},
	}
}

func engineOf(name string, replicas int32) *v1alpha1.FireboltEngine {
	return &v1alpha1.FireboltEngine{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       v1alpha1.FireboltEngineSpec{InstanceRef: "shop", Replicas: replicas, DrainCheckEnabled: new(false)},
	}
}

func (s *testEnv) create(o client.Object) {
	s.t.Helper()
	o.SetNamespace(s.namespace)
	if err := s.api.Create(s.t.Context(), o); err != nil {
		s.t.Fatal(err)
	}
}

// edit changes an engine as a user would.
func (s *testEnv) edit(e *v1alpha1.FireboltEngine, change func(*v1alpha1.FireboltEngine)) {
	s.t.Helper()
	before := &v1alpha1.FireboltEngine{}
	if err := s.api.Get(s.t.Context(), client.ObjectKeyFromObject(e), before); err != nil {
		s.t.Fatal(err)
	}
	after := before.DeepCopy()
	change(after)
	if err := s.api.Patch(s.t.Context(), after, client.MergeFrom(before)); err != nil {
		s.t.Fatal(err)
	}
}

// waitForRollout waits until the engine's latest spec is rolled out in the given phase and generation.
func (s *testEnv) waitForRollout(e *v1alpha1.FireboltEngine, phase v1alpha1.EnginePhase, generation int64) {
	s.t.Helper()
	expect.Object(s.t, s.api, e, func(e *v1alpha1.FireboltEngine) error {
		st := e.Status
		if st.ObservedGeneration != e.Generation || st.Phase != phase || st.ActiveGeneration != generation || st.CurrentGeneration != generation {
			return fmt.Errorf("observed %d of %d, phase %s, active g%d, current g%d",
				st.ObservedGeneration, e.Generation, st.Phase, st.ActiveGeneration, st.CurrentGeneration)
		}
		return nil
	})
}

func (s *testEnv) children(e *v1alpha1.FireboltEngine) []string {
	s.t.Helper()
	var out []string
	for _, list := range []client.ObjectList{&appsv1.StatefulSetList{}, &corev1.ServiceList{}, &corev1.ConfigMapList{}} {
		if err := s.api.List(s.t.Context(), list, client.InNamespace(s.namespace), client.MatchingLabels(names.EngineLabels(e.Name))); err != nil {
			s.t.Fatal(err)
		}
		switch l := list.(type) {
		case *appsv1.StatefulSetList:
			for _, o := range l.Items {
				out = append(out, o.Name)
			}
		case *corev1.ServiceList:
			for _, o := range l.Items {
				out = append(out, o.Name)
			}
		case *corev1.ConfigMapList:
			for _, o := range l.Items {
				out = append(out, o.Name)
			}
		}
	}
	slices.Sort(out)
	return out
}

func template(image string) *corev1.PodTemplateSpec {
	return &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "engine", Image: image}}}}
}

// checkWrites compares the writes since the last call with a budget. Reads are not limited: each reconcile that a stale cache causes
// reads the Secret and the inputs of its decision again.
func (s *testEnv) checkWrites(budget int, what string) {
	s.t.Helper()
	writes := s.requests.list(true)
	s.t.Logf("%s: %d writes, %d requests", what, len(writes), len(s.requests.list(false)))
	if len(writes) > budget {
		s.t.Errorf("%s: %d writes, at most %d are allowed:\n%s", what, len(writes), budget, strings.Join(writes, "\n"))
	}
	s.requests.reset()
}

func (s *testEnv) remove(o client.Object) {
	s.t.Helper()
	o.SetNamespace(s.namespace)
	if err := s.api.Delete(s.t.Context(), o); err != nil {
		s.t.Fatal(err)
	}
}

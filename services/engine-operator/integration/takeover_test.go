package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/render"
)

// legacyEngine returns an engine that an earlier operator brought to stable, with running pods. That
// operator wrote with Update, and its status has no allocated number.
func legacyEngine(t *testing.T) (*testEnv, *v1alpha1.FireboltEngine) {
	t.Helper()
	return legacyEngineAs(t, "old", nil, nil)
}

// legacyEngineAs is [legacyEngine] for an engine of the given name, with changes of its spec and of the
// StatefulSet of the earlier operator.
func legacyEngineAs(t *testing.T, name string, spec func(*v1alpha1.FireboltEngine), editSet func(*appsv1.StatefulSet)) (*testEnv, *v1alpha1.FireboltEngine) {
	t.Helper()
	s := newTestEnv(t)
	s.stopAndWait()
	s.create(&v1alpha1.FireboltEngineClass{
		ObjectMeta: metav1.ObjectMeta{Name: "class"},
		Spec: v1alpha1.FireboltEngineClassSpec{Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"team": "shop"}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "engine", Env: []corev1.EnvVar{{Name: "SHARED", Value: "class"}}}}},
		}},
	})
	e := engineOf(name, 2)
	e.Finalizers = []string{v1alpha1.EngineFinalizer}
	e.Spec.EngineClassRef = new("class")
	e.Spec.Template = &corev1.PodTemplateSpec{}
	templateYAML := `
spec:
  tolerations: [{key: a, operator: Exists}]
  containers: [{name: engine, resources: {requests: {memory: 1024Mi}}, env: [{name: OWN, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}]}]
`
	if err := convert(parse(t, templateYAML).Object, e.Spec.Template); err != nil {
		t.Fatal(err)
	}
	if err := convert(map[string]any{"storage": map[string]any{"managed_table_storage": "s3"}}, &e.Spec.CustomEngineConfig); err != nil {
		t.Fatal(err)
	}
	if spec != nil {
		spec(e)
	}
	s.create(e)
	s.createLegacyChildren(e, editSet)
	e.Status = v1alpha1.FireboltEngineStatus{Phase: v1alpha1.PhaseStable, CurrentGeneration: 4, ActiveGeneration: 4, ObservedGeneration: e.Generation}
	for _, condition := range []string{v1alpha1.ConditionReady, v1alpha1.ConditionInstanceReady} {
		meta.SetStatusCondition(&e.Status.Conditions, metav1.Condition{Type: condition, Status: metav1.ConditionTrue, Reason: "Old", ObservedGeneration: e.Generation})
	}
	if err := s.api.Status().Update(t.Context(), e, client.FieldOwner("manager")); err != nil {
		t.Fatal(err)
	}
	expect.Object(t, s.api, s.set(name+"-g4"), func(set *appsv1.StatefulSet) error {
		if set.Status.ReadyReplicas != 2 {
			return fmt.Errorf("%d pods are ready", set.Status.ReadyReplicas)
		}
		return nil
	})
	s.requests.reset()
	return s, e
}

// createLegacyChildren creates the objects of generation 4, like the earlier operator.
func (s *testEnv) createLegacyChildren(e *v1alpha1.FireboltEngine, editSet func(*appsv1.StatefulSet)) {
	s.t.Helper()
	raw, err := os.ReadFile("testdata/earlier-engine.yaml")
	if err != nil {
		s.t.Fatal(err)
	}
	renamed := filepath.Join(s.t.TempDir(), "earlier-engine.yaml")
	text := strings.NewReplacer("old-", e.Name+"-", "engine: old", "engine: "+e.Name).Replace(string(raw))
	if err := os.WriteFile(renamed, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	for _, u := range manifests(s.t, renamed) {
		if editSet != nil && u.GetKind() == "StatefulSet" {
			set := &appsv1.StatefulSet{}
			if err := convert(u.Object, set); err != nil {
				s.t.Fatal(err)
			}
			editSet(set)
			if err := convert(set, &u.Object); err != nil {
				s.t.Fatal(err)
			}
		}
		u.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(e, v1alpha1.GroupVersion.WithKind("FireboltEngine"))})
		u.SetNamespace(s.namespace)
		if err := s.api.Create(s.t.Context(), u, client.FieldOwner("manager")); err != nil {
			s.t.Fatal(err)
		}
	}
}

func (s *testEnv) set(name string) *appsv1.StatefulSet {
	return &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}}
}

// waitAdopted waits until the operator has adopted a StatefulSet.
func (s *testEnv) waitAdopted(name string) {
	s.t.Helper()
	expect.Object(s.t, s.api, s.set(name), func(set *appsv1.StatefulSet) error {
		if set.Annotations[names.AnnotationAdopted] == "" {
			return fmt.Errorf("annotations are %v", set.Annotations)
		}
		return nil
	})
}

// fetch gets the current object.
func fetch[T client.Object](s *testEnv, o T) T {
	s.t.Helper()
	if err := s.api.Get(s.t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
		s.t.Fatal(err)
	}
	return o
}

func (s *testEnv) configText(name string) string {
	s.t.Helper()
	return fetch(s, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}}).Data["config.yaml"]
}

func TestAdoptionKeepsEngineUnchanged(t *testing.T) {
	s, e := legacyEngine(t)
	before, text := fetch(s, s.set("old-g4")), s.configText("old-g4-config")
	s.run()
	for _, c := range six {
		want := metav1.ConditionFalse
		if c == "Available" || c == "Upgradable" {
			want = metav1.ConditionTrue
		}
		expect.Condition(t, s.api, e, c, want)
	}
	s.waitAdopted("old-g4")
	expect.Never(t, 2*short, func() error {
		if st := fetch(s, e).Status; st.Phase != v1alpha1.PhaseStable || st.CurrentGeneration != 4 || st.ActiveGeneration != 4 {
			return fmt.Errorf("phase %s, current g%d, active g%d", st.Phase, st.CurrentGeneration, st.ActiveGeneration)
		}
		return nil
	})
	after := fetch(s, s.set("old-g4"))
	if before.UID != after.UID || before.Generation != after.Generation {
		t.Errorf("uid %s, revision %d; before: uid %s, revision %d", after.UID, after.Generation, before.UID, before.Generation)
	}
	if diff := cmp.Diff(before.Spec, after.Spec); diff != "" {
		t.Errorf("spec (-before +after):\n%s", diff)
	}
	if got := s.configText("old-g4-config"); got != text {
		t.Errorf("the configuration that the pods have read was rewritten:\n%s", got)
	}
	if diff := cmp.Diff([]string{"old-g4", "old-g4-config", "old-g4-hl", "old-service"}, s.children(e)); diff != "" {
		t.Errorf("children (-want +got):\n%s", diff)
	}

	s.checkRestartWritesNothing(2 * short)

	s.edit(e, func(e *v1alpha1.FireboltEngine) { e.Spec.Template.Spec.Containers[0].Image = "example.com/engine:2.0" })
	s.waitForRollout(e, v1alpha1.PhaseStable, 5)
	if set := fetch(s, s.set("old-g5")); render.Legacy(set) {
		t.Errorf("generation 5 has no fingerprint: %v", set.Annotations)
	}
	if diff := cmp.Diff([]string{"old-g5", "old-g5-config", "old-g5-hl", "old-service"}, s.children(e)); diff != "" {
		t.Errorf("children (-want +got):\n%s", diff)
	}
}

func TestEditOfAdoptedStatefulSetIsDrift(t *testing.T) {
	s, e := legacyEngine(t)
	s.run()
	s.waitAdopted("old-g4")
	// The same for fields that the spec does not control.
	edited := fetch(s, s.set("old-g4"))
	edited.Spec.Template.Spec.Containers[0].Command = []string{"sleep", "infinity"}
	if err := s.api.Update(t.Context(), edited); err != nil {
		t.Fatal(err)
	}
	s.waitForRollout(e, v1alpha1.PhaseStable, 5)
}

var logSidecar = corev1.Container{
	Name: "log", Image: "example.com/log:1", ImagePullPolicy: corev1.PullIfNotPresent,
	TerminationMessagePath: "/dev/termination-log", TerminationMessagePolicy: corev1.TerminationMessageReadFile,
}

// Objects that an earlier operator accepted and ran are adopted unchanged and stay editable, and
// fields without effect cause warnings.
func TestObjectsOfEarlierOperatorStayEditable(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		name    string
		spec    func(*v1alpha1.FireboltEngine)
		editSet func(*appsv1.StatefulSet)
		warn    string
	}{
		"the web interface behind another sidecar": {
			name: "old",
			spec: func(e *v1alpha1.FireboltEngine) {
				e.Spec.UISidecar = new(true)
				e.Spec.Template.Spec.Containers = append(e.Spec.Template.Spec.Containers, logSidecar)
			},
			editSet: func(set *appsv1.StatefulSet) {
				p := &set.Spec.Template.Spec
				p.Containers = append(p.Containers, logSidecar, corev1.Container{Name: "engine-web", Image: "example.com/web:of-the-earlier-operator"})
			},
		},
		"fields without an effect": {
			name: "old",
			spec: func(e *v1alpha1.FireboltEngine) {
				p := &e.Spec.Template.Spec
				p.AutomountServiceAccountToken, p.EnableServiceLinks, p.Priority = new(false), new(true), new(int32(3))
				p.SetHostnameAsFQDN, p.DeprecatedServiceAccount, p.NodeName = new(true), "some", "node-0"
				p.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/gate"}}
				p.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
			},
			warn: "spec.template.spec.automountServiceAccountToken",
		},
		"a name of 48 characters": {name: strings.Repeat("o", 48)},
	}
	for title, tc := range cases {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			s, e := legacyEngineAs(t, tc.name, tc.spec, tc.editSet)
			before := fetch(s, s.set(tc.name+"-g4"))
			s.run()
			s.waitAdopted(tc.name + "-g4")
			if diff := cmp.Diff(before.Spec, fetch(s, s.set(tc.name+"-g4")).Spec); diff != "" {
				t.Errorf("spec (-before +after):\n%s", diff)
			}
			expect.Object(t, s.api, e, func(e *v1alpha1.FireboltEngine) error {
				c := meta.FindStatusCondition(e.Status.Conditions, v1alpha1.ConditionReady)
				if c == nil || c.Reason != v1alpha1.ReasonEngineReady || !strings.Contains(c.Message, tc.warn) {
					return fmt.Errorf("Ready is %+v, want %q in it", c, tc.warn)
				}
				return nil
			})
			if tc.warn != "" {
				expect.Eventually(t, expect.Long, func() error { return s.checkWarning(e, "FieldsIgnored", tc.warn) })
			}
			if got := fetch(s, e).Status.CurrentGeneration; got != 4 {
				t.Errorf("the current generation is %d, want 4", got)
			}
			s.edit(e, func(e *v1alpha1.FireboltEngine) { e.Spec.Template.Spec.Containers[0].Image = "example.com/engine:2.0" })
			s.waitForRollout(e, v1alpha1.PhaseStable, 5)
		})
	}
}

// checkWarning finds a Warning event about an engine.
func (s *testEnv) checkWarning(e *v1alpha1.FireboltEngine, reason, text string) error {
	var list eventsv1.EventList
	if err := s.api.List(s.t.Context(), &list, client.InNamespace(s.namespace)); err != nil {
		return err
	}
	var others []string
	for _, o := range list.Items {
		if o.Regarding.Name != e.Name {
			continue
		}
		if o.Type == corev1.EventTypeWarning && o.Reason == reason && strings.Contains(o.Note, text) {
			return nil
		}
		others = append(others, o.Type+" "+o.Reason+": "+o.Note)
	}
	return fmt.Errorf("no event %s with %q among %q", reason, text, others)
}

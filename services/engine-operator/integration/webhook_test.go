package integration

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/webhook"
)

func bounded(o *webhook.Options) { o.MaxCPU, o.MaxMemory = "32", "256Gi" }

// apply creates an object of the namespace from YAML.
func (a *admission) apply(manifest string) error {
	u := parse(a.t, manifest)
	u.SetNamespace(a.namespace)
	return a.api.Create(a.t.Context(), u)
}

// tryCreate creates an engine as a dry run.
func (a *admission) tryCreate(name, spec string) error {
	u := parse(a.t, engineYAML(name, spec))
	u.SetNamespace(a.namespace)
	return a.api.Create(a.t.Context(), u, client.DryRunAll)
}

func classYAML(name, spec string) string {
	return "apiVersion: compute.firebolt.io/v1alpha1\nkind: FireboltEngineClass\nmetadata: {name: " + name + "}\nspec: " + spec
}

// causes returns the fields in the API server's response.
func causes(t *testing.T, err error) []string {
	t.Helper()
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		t.Fatalf("no status with details: %v", err)
	}
	var out []string
	for _, c := range status.Status().Details.Causes {
		out = append(out, c.Field)
	}
	return out
}

const (
	excessiveClass = "{template: {spec: {containers: [{name: engine, resources: {requests: {cpu: 33, memory: 1Gi}, limits: {cpu: 64, memory: 512Gi}}}]}}}"
	invalidEngine  = `{instanceRef: i, replicas: 1, engineClassRef: nowhere, template: {metadata: {labels: {firebolt.io/engine: x}}, ` +
		`spec: {hostNetwork: true, volumes: [{name: creds, secret: {secretName: i-metadata-postgres-creds}}], ` +
		`containers: [{name: engine, command: [x], resources: {requests: {cpu: 33}, limits: {memory: 512Gi}}}]}}}`
)

func TestEngineWebhookListsAllErrors(t *testing.T) {
	t.Parallel()
	a := serveWebhooks(t, bounded)
	err := a.apply(engineYAML("e", invalidEngine))
	if !apierrors.IsInvalid(err) {
		t.Fatalf("want Invalid, got %v", err)
	}
	want := []string{
		"spec.template.metadata.labels[firebolt.io/engine]", "spec.template.spec.hostNetwork",
		"spec.template.spec.containers[engine].command", "spec.template.spec.volumes[creds].secret.secretName",
		"spec.template.spec.containers[engine].resources.requests.cpu", "spec.template.spec.containers[engine].resources.limits.memory",
	}
	if diff := cmp.Diff(want, causes(t, err)); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
	checkError(t, err, append(want, `FireboltEngine "e" is invalid`, "maximum of 256Gi")...)
}

func TestEngineContainersStayWithinBounds(t *testing.T) {
	t.Parallel()
	a := serveWebhooks(t, bounded)
	a.create(&v1alpha1.FireboltInstance{ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: "i"}})
	if err := a.apply(classYAML("greedy", excessiveClass)); err != nil {
		t.Fatalf("a class is not bounded itself: %v", err)
	}
	engine := func(resources string) string {
		return "{instanceRef: i, replicas: 1, template: {spec: {containers: [" + resources + "]}}}"
	}
	const at = "spec.template.spec.containers[engine].resources."
	cases := map[string]struct {
		spec string
		want []string
	}{
		"at the bounds":         {engine("{name: engine, resources: {requests: {cpu: 32000m}, limits: {cpu: 32, memory: 256Gi}}}"), nil},
		"a bit more":            {engine("{name: engine, resources: {limits: {cpu: 32001m}}}"), []string{at + "limits.cpu", "maximum of 32"}},
		"a resource without":    {engine("{name: engine, resources: {limits: {ephemeral-storage: 99Ti}}}"), nil},
		"another container":     {engine("{name: engine}, {name: side, image: x, resources: {limits: {cpu: 99}}}"), nil},
		"inherited from class":  {"{instanceRef: i, replicas: 1, engineClassRef: greedy}", []string{at + "requests.cpu", at + "limits.cpu", at + "limits.memory", "greedy"}},
		"overriding that class": {"{instanceRef: i, replicas: 1, engineClassRef: greedy, template: {spec: {containers: [{name: engine, resources: {limits: {cpu: 1}}}]}}}", nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := a.tryCreate("e", tc.spec)
			if tc.want != nil {
				checkError(t, err, tc.want...)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}

// Helm creates the engines of a release before their class, and deletes the class while they terminate.
func TestWebhooksAdmitReleaseWithEngineAndClass(t *testing.T) {
	t.Parallel()
	a := serveWebhooks(t, nil)
	e := &v1alpha1.FireboltEngine{ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: "e", Finalizers: []string{"example.com/drains"}}}
	e.Spec = v1alpha1.FireboltEngineSpec{InstanceRef: "later", EngineClassRef: new("later"), Replicas: 1}
	class := &v1alpha1.FireboltEngineClass{ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: "later"}}
	a.create(e, class)
	for _, o := range []client.Object{e, class} {
		if err := a.api.Delete(t.Context(), o); err != nil {
			t.Errorf("deletion of %T: %v", o, err)
		}
	}
}

func TestClassWebhookRejectsDeletionWhileInUse(t *testing.T) {
	t.Parallel()
	a := serveWebhooks(t, nil)
	for _, manifest := range []string{
		classYAML("shared", "{template: {}}"),
		engineYAML("b", "{instanceRef: i, replicas: 1, engineClassRef: shared}"),
		engineYAML("a", "{instanceRef: i, replicas: 1, engineClassRef: shared}"),
		engineYAML("c", "{instanceRef: i, replicas: 1}"),
	} {
		if err := a.apply(manifest); err != nil {
			t.Fatal(err)
		}
	}
	class := &v1alpha1.FireboltEngineClass{ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: "shared"}}
	err := a.api.Delete(t.Context(), class)
	if !apierrors.IsForbidden(err) {
		t.Errorf("want Forbidden, got %v", err)
	}
	checkError(t, err, "metadata.name: the class is used by 2 FireboltEngine(s): a, b;")
	for _, name := range []string{"a", "b"} {
		if err := a.api.Delete(t.Context(), &v1alpha1.FireboltEngine{ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: name}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.api.Delete(t.Context(), class); err != nil {
		t.Errorf("after its engines: %v", err)
	}
}

func TestClassAndInstanceWebhooksListErrors(t *testing.T) {
	t.Parallel()
	a := serveWebhooks(t, nil)
	checkError(t, a.apply(classYAML("c", "{template: {spec: {hostPID: true, containers: [{name: engine, args: [x]}]}}}")),
		"spec.template.spec.hostPID", "spec.template.spec.containers[engine].args")
	checkError(t, a.apply(instanceYAML("i", "{metadata: {template: {spec: {hostPID: true}}}, gateway: {template: {spec: {hostIPC: true}}}}")),
		"spec.metadata.template.spec.hostPID", "spec.gateway.template.spec.hostIPC")
	checkError(t, a.apply(instanceYAML("j", "{metadata: {postgres: {host: h, database: d, credentialsSecretRef: {}}}, gateway: {}}")),
		"spec.metadata.postgres.credentialsSecretRef.name")
}

// Objects that an earlier operator or release accepted stay manageable: with the match conditions of
// config/webhook the API server does not call the webhook; without them the webhook accepts the request.
func TestInvalidStoredObjectsStayEditable(t *testing.T) {
	t.Parallel()
	for name, conditions := range map[string]bool{"with match conditions": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			a := prepare(t, bounded)
			engine := &v1alpha1.FireboltEngine{ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: "e", Finalizers: []string{"example.com/keep"}}}
			class := &v1alpha1.FireboltEngineClass{ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: "c", Finalizers: []string{"example.com/keep"}}}
			instance := &v1alpha1.FireboltInstance{ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: "i", Finalizers: []string{"example.com/keep"}}}
			bad := corev1.PodSpec{HostPID: true, Containers: []corev1.Container{{Name: "engine", Resources: corev1.ResourceRequirements{
				Limits: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("99")},
			}}}}
			engine.Spec = v1alpha1.FireboltEngineSpec{InstanceRef: "i", EngineClassRef: new("gone"), Replicas: 1, Template: &corev1.PodTemplateSpec{Spec: bad}}
			class.Spec.Template.Spec = bad
			instance.Spec.Metadata.Template = &corev1.PodTemplateSpec{Spec: corev1.PodSpec{HostPID: true}}
			a.create(engine, class, instance)
			a.register(conditions)
			a.run()
			a.active()

			for _, o := range []client.Object{engine, class, instance} {
				kind := strings.TrimPrefix(o.GetObjectKind().GroupVersionKind().Kind, "Firebolt") + o.GetName()
				steps := []struct{ what, patch string }{
					{"a label", `{"metadata":{"labels":{"team":"x"}}}`},
					{"a command", `{"metadata":{"annotations":{"operator-command":"Stopped"}}}`},
					{"a finalizer", `{"metadata":{"finalizers":["example.com/keep","example.com/more"]}}`},
					{"its status", `{"status":{"observedGeneration":7,"currentGeneration":0,"activeGeneration":0}}`},
				}
				for _, step := range steps {
					var err error
					if patch := client.RawPatch(types.MergePatchType, []byte(step.patch)); step.what == "its status" {
						err = a.api.Status().Patch(t.Context(), o, patch)
					} else {
						err = a.api.Patch(t.Context(), o, patch)
					}
					if err != nil {
						t.Errorf("%s: %s: %v", kind, step.what, err)
					}
				}
				if err := a.api.Patch(t.Context(), o, client.RawPatch(types.MergePatchType, []byte(change[o.GetName()]))); !apierrors.IsInvalid(err) {
					t.Errorf("%s: a change of the spec that leaves it inadmissible: want Invalid, got %v", kind, err)
				}
				if err := a.api.Delete(t.Context(), o); err != nil {
					t.Errorf("%s: its deletion: %v", kind, err)
				}
				// Like an earlier operator: the last finalizer is removed together with a change of the spec.
				last := strings.Replace(change[o.GetName()], "{", `{"metadata":{"finalizers":null},`, 1)
				if err := a.api.Patch(t.Context(), o, client.RawPatch(types.MergePatchType, []byte(last))); err != nil {
					t.Errorf("%s: its last finalizer: %v", kind, err)
				}
				if err := a.api.Get(t.Context(), client.ObjectKeyFromObject(o), o); !apierrors.IsNotFound(err) {
					t.Errorf("%s is still there: %v", kind, err)
				}
			}
		})
	}
}

// change lists changes of a spec, by the names of the objects above.
var change = map[string]string{
	"e": `{"spec":{"replicas":2}}`,
	"c": `{"spec":{"uiSidecar":true}}`,
	"i": `{"spec":{"gateway":{"replicas":3}}}`,
}

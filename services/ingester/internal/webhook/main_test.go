package webhook

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"

	"github.com/flotilla-dev/flotilla/services/ingester/api"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	os.Exit(cluster.Main(m, cluster.Options{CRDs: []string{filepath.Join("..", "..", "config", "crd")}, Nodes: 1}))
}

// env is a namespace in which objects are created.
type env struct {
	*testing.T
	client    client.Client
	namespace string
}

func newEnv(t *testing.T) *env {
	t.Helper()
	c := cluster.Get(t)
	return &env{T: t, client: c.Client(t, clientgoscheme.Scheme), namespace: c.Namespace(t)}
}

// install creates cluster-scoped objects and deletes them at the end of the test.
func (s *env) install(objects ...client.Object) {
	s.Helper()
	for _, o := range objects {
		if err := s.client.Create(s.Context(), o); err != nil {
			s.Fatal(err)
		}
		s.Cleanup(func() {
			if err := s.client.Delete(context.Background(), o); err != nil {
				s.Error(err)
			}
		})
	}
}

// namespaceSelector selects the namespace of the test.
func (s *env) namespaceSelector() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": s.namespace}}
}

func (s *env) object(kind, name string, finalizers ...string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{}}}
	u.SetAPIVersion(api.GroupVersion)
	u.SetKind(kind)
	u.SetNamespace(s.namespace)
	u.SetName(name)
	u.SetFinalizers(finalizers)
	return u
}

func (s *env) create(u *unstructured.Unstructured, options ...client.CreateOption) *unstructured.Unstructured {
	s.Helper()
	if err := s.client.Create(s.Context(), u, options...); err != nil {
		s.Fatal(err)
	}
	return u
}

// active waits until new objects get the finalizer. It creates them in dry runs only.
func (s *env) active() {
	s.Helper()
	for _, kind := range kinds(s) {
		expect.Eventually(s, expect.Long, func() error {
			u := s.object(kind.Name, "probe")
			if err := s.client.Create(s.Context(), u, client.DryRunAll); err != nil {
				return err
			}
			return has(u, api.IngesterFinalizer)
		})
	}
}

func kinds(t testing.TB) []*registry.Kind {
	t.Helper()
	all, err := registry.Load()
	if err != nil {
		t.Fatal(err)
	}
	return all.Kinds()
}

type missingError string

func (m missingError) Error() string { return string(m) }

// has compares the finalizers of an object in the API server's response.
func has(u *unstructured.Unstructured, want ...string) error {
	if diff := cmp.Diff(want, u.GetFinalizers()); diff != "" {
		return missingError("finalizers (-want +got):\n" + diff)
	}
	return nil
}

// checkNewObjects checks the finalizers of new objects while a policy or webhook adds ours.
func (s *env) checkNewObjects() {
	const own, foreign = api.IngesterFinalizer, "example.com/keep"
	for name, tc := range map[string]struct{ given, want []string }{
		"none":       {nil, []string{own}},
		"empty":      {[]string{}, []string{own}},
		"foreign":    {[]string{foreign}, []string{foreign, own}},
		"ours":       {[]string{own}, []string{own}},
		"ours-first": {[]string{own, foreign}, []string{own, foreign}},
	} {
		if err := has(s.create(s.object("Model", name, tc.given...)), tc.want...); err != nil {
			s.Errorf("finalizers %q given: %v", tc.given, err)
		}
	}
	generated := s.object("Model", "")
	generated.SetGenerateName("run-")
	if err := has(s.create(generated), own); err != nil {
		s.Errorf("a generated name: %v", err)
	}
	for _, kind := range kinds(s) {
		if err := has(s.create(s.object(kind.Name, "one")), own); err != nil {
			s.Errorf("%s: %v", kind.Name, err)
		}
	}
	s.checkApply()
	s.checkRemoval()
}

// checkApply checks that an applier that does not mention the finalizer does not remove it.
func (s *env) checkApply() {
	apply := func(algorithm string, finalizers ...string) *unstructured.Unstructured {
		u := s.object("Model", "applied", finalizers...)
		u.Object["spec"] = map[string]any{"algorithm": algorithm}
		configuration := client.ApplyConfigurationFromUnstructured(u)
		if err := s.client.Apply(s.Context(), configuration, client.FieldOwner("gitops"), client.ForceOwnership); err != nil {
			s.Fatal(err)
		}
		read := s.object("Model", "applied")
		if err := s.client.Get(s.Context(), client.ObjectKeyFromObject(read), read); err != nil {
			s.Fatal(err)
		}
		return read
	}
	for _, algorithm := range []string{"one", "two"} {
		if err := has(apply(algorithm), api.IngesterFinalizer); err != nil {
			s.Errorf("applied as %s: %v", algorithm, err)
		}
	}
}

// checkRemoval checks that the finalizer can be removed.
func (s *env) checkRemoval() {
	u := s.create(s.object("Project", "released"))
	if err := s.client.Patch(s.Context(), u, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))); err != nil {
		s.Fatal(err)
	}
	if err := has(u); err != nil {
		s.Errorf("after the removal: %v", err)
	}
}

// policies returns the policies of config/admission, for the namespace of the test.
func (s *env) policies() (*admissionregistrationv1.MutatingAdmissionPolicy, *admissionregistrationv1.MutatingAdmissionPolicyBinding) {
	s.Helper()
	policy := &admissionregistrationv1.MutatingAdmissionPolicy{}
	binding := &admissionregistrationv1.MutatingAdmissionPolicyBinding{}
	decode(s.T, "admission/manifests.yaml", policy, binding)
	policy.Name, binding.Name, binding.Spec.PolicyName = s.namespace, s.namespace, s.namespace
	binding.Spec.MatchResources = &admissionregistrationv1.MatchResources{NamespaceSelector: s.namespaceSelector()}
	return policy, binding
}

func TestPolicyAddsFinalizerToNewObjects(t *testing.T) {
	s := newEnv(t)
	policy, binding := s.policies()
	s.install(policy, binding)
	s.active()
	s.checkNewObjects()

	other := newEnv(t)
	if err := has(other.create(other.object("Model", "one"))); err != nil {
		t.Errorf("a namespace that the binding does not select: %v", err)
	}
}

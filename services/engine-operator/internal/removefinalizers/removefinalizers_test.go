package removefinalizers_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/flotilla-dev/flotilla/libs/kube/service"
	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/leadertest"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/removefinalizers"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	os.Exit(cluster.Main(m, cluster.Options{CRDs: []string{"../../config/crd"}, Nodes: 1}))
}

const foreign = "example.com/keep"

type testEnv struct {
	*testing.T
	client    client.Client
	namespace string
}

func newTestEnv(t *testing.T) testEnv {
	t.Helper()
	c := cluster.Get(t)
	return testEnv{T: t, client: c.Client(t, scheme.Scheme), namespace: c.Namespace(t)}
}

// create creates an object of a kind with our finalizer and optional others.
func (s testEnv) create(kind, name, spec string, finalizers ...string) *unstructured.Unstructured {
	s.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte("spec: "+spec), &u.Object); err != nil {
		s.Fatal(err)
	}
	u.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind))
	u.SetNamespace(s.namespace)
	u.SetName(name)
	u.SetFinalizers(finalizers)
	if err := s.client.Create(s.Context(), u); err != nil {
		s.Fatal(err)
	}
	return u
}

func (s testEnv) env() removefinalizers.Env {
	return removefinalizers.Env{Client: s.client, Clock: clock.RealClock{}, Namespaces: []string{s.namespace}, LeaseNamespace: s.namespace}
}

func (s testEnv) run(c removefinalizers.Command, env removefinalizers.Env) (string, string) {
	s.Helper()
	var out strings.Builder
	err := c.Run(s.Context(), env, &out)
	text := ""
	if err != nil {
		text = err.Error()
	}
	return strings.Join(strings.Fields(out.String()), " "), text
}

// clientAs returns a client with the permissions of config/rbac/operator_role.yaml only.
func (s testEnv) clientAs() client.Client {
	s.Helper()
	raw, err := os.ReadFile("../../config/rbac/operator_role.yaml")
	if err != nil {
		s.Fatal(err)
	}
	var rules []rbacv1.PolicyRule
	for doc := range strings.SplitSeq(string(raw), "\n---\n") {
		var role rbacv1.Role
		if err := yaml.Unmarshal([]byte(doc), &role); err != nil {
			s.Fatal(err)
		}
		rules = append(rules, role.Rules...)
	}
	in := metav1.ObjectMeta{Namespace: s.namespace, Name: "releaser"}
	for _, o := range []client.Object{
		&rbacv1.Role{ObjectMeta: in, Rules: rules},
		&rbacv1.RoleBinding{
			ObjectMeta: in, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: in.Name},
			Subjects: []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: s.namespace}},
		},
	} {
		if err := s.client.Create(s.Context(), o); err != nil {
			s.Fatal(err)
		}
	}
	cfg := rest.CopyConfig(cluster.Get(s).Config)
	cfg.Impersonate.UserName = s.namespace
	c, err := client.New(cfg, client.Options{Scheme: scheme.Scheme})
	if err != nil {
		s.Fatal(err)
	}
	return c
}

func TestCommandMakesObjectsDeletable(t *testing.T) {
	s := newTestEnv(t)
	engine := s.create("FireboltEngine", "e", "{instanceRef: i, replicas: 1}", foreign, v1alpha1.EngineFinalizer)
	deleted := s.create("FireboltEngineClass", "gone", "{template: {}}", v1alpha1.ClassFinalizer)
	class := s.create("FireboltEngineClass", "c", "{template: {}}", v1alpha1.ClassFinalizer)
	instance := s.create("FireboltInstance", "i", "{id: 01J0000000000000000000000A, gateway: {}, metadata: {}}", v1alpha1.InstanceFinalizer)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: s.namespace, Name: "i-metadata-postgres-creds", OwnerReferences: []metav1.OwnerReference{{
			APIVersion: v1alpha1.GroupVersion.String(), Kind: "FireboltInstance", Name: "i", UID: instance.GetUID(),
		}},
	}}
	if err := s.client.Create(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	if err := s.client.Delete(t.Context(), deleted); err != nil {
		t.Fatal(err)
	}

	const counted = "FireboltEngine 1 0 FireboltEngineClass 2 1 FireboltInstance 1 0"
	out, err := s.run(removefinalizers.Command{DryRun: true}, s.env())
	if want := "KIND WOULD BE RELEASED OF THEM TERMINATING " + counted; out != want || err != "" {
		t.Errorf("dry run: %s %s", out, err)
	}
	env := s.env()
	env.Client = s.clientAs()
	expect.Eventually(t, expect.Long, func() error { // a new role applies with a delay
		return env.Client.Get(t.Context(), client.ObjectKeyFromObject(secret), &corev1.Secret{})
	})
	out, err = s.run(removefinalizers.Command{}, env)
	if want := "KIND RELEASED OF THEM TERMINATING " + counted; out != want || err != "" {
		t.Errorf("release: %s %s", out, err)
	}
	expect.Deleted(t, s.client, deleted)
	if err := s.client.Get(t.Context(), client.ObjectKeyFromObject(engine), engine); err != nil || len(engine.GetFinalizers()) != 1 {
		t.Errorf("finalizers of others: %v, %v", engine.GetFinalizers(), err)
	}
	if err := s.client.Get(t.Context(), client.ObjectKeyFromObject(secret), secret); err != nil || len(secret.OwnerReferences) > 0 {
		t.Errorf("the credentials go with the instance: %v, %v", secret.OwnerReferences, err)
	}
	if id := secret.Annotations[names.AnnotationInstanceID]; id != "01J0000000000000000000000A" {
		t.Errorf("the id %q is recorded on the credentials", id)
	}
	for _, o := range []client.Object{class, instance} {
		if err := s.client.Delete(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		expect.Deleted(t, s.client, o)
	}
}

// The Secret of a former own database keeps the id of its data, which is not that of an instance with an external one.
func TestCommandRecordsNoIDOfExternalDatabase(t *testing.T) {
	s := newTestEnv(t)
	s.create("FireboltInstance", "i", "{id: 01J0000000000000000000000A, gateway: {}, metadata: {postgres: {host: db, database: d, credentialsSecretRef: {name: db}}}}",
		v1alpha1.InstanceFinalizer)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "i-metadata-postgres-creds"}}
	if err := s.client.Create(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	if _, err := s.run(removefinalizers.Command{}, s.env()); err != "" {
		t.Fatal(err)
	}
	expect.Unwritten(t, s.client, secret)
}

// The clock of the running operator is behind; that of the crashed one was ahead.
func TestCommandFailsWhileOperatorRuns(t *testing.T) {
	s := newTestEnv(t)
	class := s.create("FireboltEngineClass", "c", "{template: {}}", v1alpha1.ClassFinalizer)
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: removefinalizers.LeaseName},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: new("pod-a"), LeaseDurationSeconds: new(int32(1)), RenewTime: new(metav1.NewMicroTime(time.Now().Add(-time.Minute))),
		},
	}
	if err := s.client.Create(t.Context(), lease); err != nil {
		t.Fatal(err)
	}
	env := s.env()
	env.Client = leadertest.Renewing(s.client, lease)
	if _, err := s.run(removefinalizers.Command{}, env); !strings.Contains(err, "pod-a is running") {
		t.Errorf("error %q", err)
	}
	if err := s.client.Get(t.Context(), client.ObjectKeyFromObject(class), class); err != nil || len(class.GetFinalizers()) != 1 {
		t.Errorf("finalizers %v, %v", class.GetFinalizers(), err)
	}
	lease.Spec.RenewTime = new(metav1.NewMicroTime(time.Now().Add(10 * time.Minute)))
	if err := s.client.Update(t.Context(), lease); err != nil {
		t.Fatal(err)
	}
	if out, err := s.run(removefinalizers.Command{}, s.env()); err != "" || !strings.Contains(out, "FireboltEngineClass 1 0") {
		t.Errorf("%s %s", out, err)
	}
}

func TestCommandContinuesAfterPolicy(t *testing.T) {
	s := newTestEnv(t)
	for _, name := range []string{"a", "rejected", "z"} {
		s.create("FireboltEngineClass", name, "{template: {}}", v1alpha1.ClassFinalizer)
	}
	instance := s.create("FireboltInstance", "i", "{gateway: {}, metadata: {}}", v1alpha1.InstanceFinalizer)
	allow := cluster.Get(t).RejectWrites(t, s.namespace, "rejected")
	out, err := s.run(removefinalizers.Command{}, s.env())
	const counts = "FireboltEngine 0 0 FireboltEngineClass 2 0 FireboltInstance 1 0 FireboltEngineClass "
	if !strings.Contains(out, counts+s.namespace+"/rejected: ") || err != "patches of 1 object were rejected" {
		t.Errorf("got %s\n%s", out, err)
	}
	if err := s.client.Get(t.Context(), client.ObjectKeyFromObject(instance), instance); err != nil || len(instance.GetFinalizers()) > 0 {
		t.Errorf("finalizers of another kind %v, %v", instance.GetFinalizers(), err)
	}
	allow()
	if out, err := s.run(removefinalizers.Command{}, s.env()); err != "" || !strings.Contains(out, "FireboltEngineClass 1 0") {
		t.Errorf("again: %s\n%s", out, err)
	}
}

func TestErrorsNameRemedy(t *testing.T) {
	s := newTestEnv(t)
	env := s.env()
	env.LeaseNamespace = ""
	if _, err := s.run(removefinalizers.Command{}, env); !strings.Contains(err, "--leader-election-namespace") {
		t.Errorf("error %q", err)
	}
	cfg := rest.CopyConfig(cluster.Get(t).Config)
	cfg.Impersonate.UserName = "nobody"
	unauthorized, err := client.New(cfg, client.Options{Scheme: scheme.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	env = s.env()
	env.Client = unauthorized
	if _, err := s.run(removefinalizers.Command{Force: true}, env); !strings.Contains(err, "config/rbac/operator_role.yaml grants the required permissions") {
		t.Errorf("error %q", err)
	}
}

// TestEmptyShardHasNothingToRemove has a selector that matches no namespace, which must not stand for all of them.
func TestEmptyShardHasNothingToRemove(t *testing.T) {
	s := newTestEnv(t)
	class := s.create("FireboltEngineClass", "small", "{template: {}}", v1alpha1.ClassFinalizer)
	o := service.Options{Kubeconfig: cluster.Get(t).Kubeconfig, WatchNamespaceSelector: "shard=" + s.namespace, LeaderElectionNamespace: s.namespace}
	if err := removefinalizers.Commands()["remove-finalizers"].Run(t.Context(), o, nil); err != nil {
		t.Errorf("got %v, want that there is nothing to do", err)
	}
	expect.Object(t, s.client, class, func(class *unstructured.Unstructured) error {
		if len(class.GetFinalizers()) != 1 {
			return fmt.Errorf("the class of another shard has the finalizers %v", class.GetFinalizers())
		}
		return nil
	})
}

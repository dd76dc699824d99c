package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
)

func TestDefect8TerminatingInstanceServesBoundEngines(t *testing.T) {
	t.Parallel()
	s := newTestEnv(t)
	e := engineOf("a", 1)
	s.create(e)
	s.waitForRollout(e, v1alpha1.PhaseStable, 0)
	i := s.getInstance()
	if err := s.api.Delete(t.Context(), i); err != nil {
		t.Fatal(err)
	}
	s.waitForInstanceReason(i, v1alpha1.ReasonDeletionBlocked)
	s.instanceIs(v1alpha1.InstanceDegraded, v1alpha1.ConditionMetadataReady, v1alpha1.ReasonComponentReady)
	s.warned(`engine "a"`)

	// The engine is not affected, and the objects that it uses are repaired as usual.
	s.remove(&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "shop-metadata"}})
	s.instanceIs(v1alpha1.InstanceDegraded, v1alpha1.ConditionMetadataReady, v1alpha1.ReasonComponentReady)
	s.edit(e, func(e *v1alpha1.FireboltEngine) { e.Spec.Template = template("example.com/engine:2.0") })
	s.waitForRollout(e, v1alpha1.PhaseStable, 1)

	if err := s.api.Delete(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	expect.Deleted(t, s.api, i)
	for _, o := range s.instanceObjects() {
		o.SetNamespace(s.namespace)
		expect.Deleted(t, s.api, o)
	}
}

// instanceObjects returns all objects of an instance with an external database.
func (s *testEnv) instanceObjects() []client.Object {
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: s.namespace, Name: name} }
	return []client.Object{
		&appsv1.Deployment{ObjectMeta: meta("shop-metadata")}, &appsv1.Deployment{ObjectMeta: meta("shop-gateway")},
		&corev1.Service{ObjectMeta: meta("shop-metadata")}, &corev1.Service{ObjectMeta: meta("shop-gateway")},
		&corev1.ConfigMap{ObjectMeta: meta("shop-metadata-config")}, &corev1.ConfigMap{ObjectMeta: meta("shop-gateway-config")},
		&corev1.ServiceAccount{ObjectMeta: meta("shop-gateway")},
	}
}

func TestDefect3TerminatingInstanceGetsNoFinalizer(t *testing.T) {
	t.Parallel()
	s := newTestEnv(t)
	i := s.editInstance(func(i *v1alpha1.FireboltInstance) { i.Finalizers = append(i.Finalizers, "example.com/hold") })
	if err := s.api.Delete(t.Context(), i); err != nil {
		t.Fatal(err)
	}
	expect.Object(t, s.api, i, func(i *v1alpha1.FireboltInstance) error {
		if !slices.Equal(i.Finalizers, []string{"example.com/hold"}) {
			return fmt.Errorf("finalizers %v", i.Finalizers)
		}
		return nil
	})
	s.checkUnchanged(s.editInstance(func(i *v1alpha1.FireboltInstance) { i.Annotations = map[string]string{"touched": "yes"} }))
	s.editInstance(func(i *v1alpha1.FireboltInstance) { i.Finalizers = nil })
	expect.Deleted(t, s.api, i)
}

// A catalog outlives its instance: volume, password and id still exist when an
// instance with the same name is created.
func TestDefect8RecreatedInstanceFindsDataAndPassword(t *testing.T) {
	t.Parallel()
	s := &testEnv{api: apiServer(t)}
	s.operator = start(t, cluster.Get(t).Namespace(t))
	s.volume("10Gi")
	i := &v1alpha1.FireboltInstance{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	s.create(i)
	s.instanceIs(v1alpha1.InstanceReady, v1alpha1.ConditionReady, v1alpha1.ReasonAllComponentsReady)
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: s.namespace, Name: name} }
	secret := &corev1.Secret{ObjectMeta: meta("shop-metadata-postgres-creds")}
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: meta("data-shop-metadata-pg-0")}
	database := &appsv1.StatefulSet{ObjectMeta: meta("shop-metadata-pg")}
	s.read(i, secret, claim, database)
	id, password, volume := i.Spec.ID, string(secret.Data["password"]), claim.UID

	if err := s.api.Delete(t.Context(), i); err != nil {
		t.Fatal(err)
	}
	expect.Deleted(t, s.api, i)
	expect.Deleted(t, s.api, database)
	s.read(secret, claim)
	if claim.UID != volume || claim.DeletionTimestamp != nil || len(secret.OwnerReferences) > 0 {
		t.Fatalf("volume %+v, owners of the Secret %v", claim.ObjectMeta, secret.OwnerReferences)
	}

	i = &v1alpha1.FireboltInstance{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	s.create(i)
	i = s.instanceIs(v1alpha1.InstanceReady, v1alpha1.ConditionReady, v1alpha1.ReasonAllComponentsReady)
	s.read(secret, claim)
	if i.Spec.ID != id || string(secret.Data["password"]) != password || claim.UID != volume {
		t.Errorf("id %s, was %s; volume %s, was %s; same password: %v",
			i.Spec.ID, id, claim.UID, volume, string(secret.Data["password"]) == password)
	}

	// If the volume exists without the password, no password is generated: the database would reject it.
	if err := s.api.Delete(t.Context(), i); err != nil {
		t.Fatal(err)
	}
	expect.Deleted(t, s.api, i)
	expect.Deleted(t, s.api, database)
	s.remove(secret)
	s.create(&v1alpha1.FireboltInstance{ObjectMeta: metav1.ObjectMeta{Name: "shop"}})
	s.instanceIs(v1alpha1.InstanceFailed, v1alpha1.ConditionMetadataReady, v1alpha1.ReasonPostgresCredentialsLost)
	secret.ObjectMeta = metav1.ObjectMeta{Name: secret.Name, Annotations: secret.Annotations, Labels: secret.Labels}
	s.create(secret)
	s.editInstance(func(i *v1alpha1.FireboltInstance) { i.Annotations = map[string]string{"touched": "yes"} })
	s.checkOtherIDFails(id, database)
}

// checkOtherIDFails checks that an instance does not start on the data of another id, and that a new one finds it.
func (s *testEnv) checkOtherIDFails(id string, database *appsv1.StatefulSet) {
	s.t.Helper()
	i := s.instanceIs(v1alpha1.InstanceFailed, v1alpha1.ConditionMetadataReady, v1alpha1.ReasonInstanceIDMismatch)
	message := meta.FindStatusCondition(i.Status.Conditions, v1alpha1.ConditionMetadataReady).Message
	if i.Spec.ID == id || !strings.Contains(message, i.Spec.ID) || !strings.Contains(message, id) {
		s.t.Errorf("MetadataReady has message %q, want the ids %s and %s", message, id, i.Spec.ID)
	}
	for _, o := range []client.Object{database, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "shop-metadata"}}} {
		err := s.api.Get(s.t.Context(), client.ObjectKeyFromObject(o), o) // that of the previous instance may still exist
		if client.IgnoreNotFound(err) != nil || (err == nil && metav1.IsControlledBy(o, i)) {
			s.t.Errorf("%s was applied for another id: %v", o.GetName(), err)
		}
	}
	s.remove(i)
	expect.Deleted(s.t, s.api, i)
	s.create(&v1alpha1.FireboltInstance{ObjectMeta: metav1.ObjectMeta{Name: "shop"}})
	if i = s.instanceIs(v1alpha1.InstanceReady, v1alpha1.ConditionReady, v1alpha1.ReasonAllComponentsReady); i.Spec.ID != id {
		s.t.Errorf("id %s, want that of the data, %s", i.Spec.ID, id)
	}
}

// read gets objects from the API server.
func (s *testEnv) read(objects ...client.Object) {
	s.t.Helper()
	for _, o := range objects {
		if err := s.api.Get(s.t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
			s.t.Fatal(err)
		}
	}
}

func TestDefect8OperatorCannotDeleteInstanceData(t *testing.T) {
	t.Parallel()
	role := &rbacv1.ClusterRole{}
	if err := convert(manifests(t, "../config/rbac/role.yaml")[0].Object, role); err != nil {
		t.Fatal(err)
	}
	if len(role.Rules) == 0 {
		t.Fatal("no rules")
	}
	for _, rule := range role.Rules {
		for _, kind := range []string{"persistentvolumeclaims", "secrets", "*"} {
			if !slices.Contains(rule.Resources, kind) {
				continue
			}
			for _, verb := range []string{"delete", "deletecollection", "list", "watch", "update", "*"} {
				if slices.Contains(rule.Verbs, verb) {
					t.Errorf("the operator may %s %s", verb, kind)
				}
			}
		}
	}
	if names.PostgresClaim("shop") != "data-shop-metadata-pg-0" {
		t.Errorf("volume claim %q is not the one that the StatefulSet makes", names.PostgresClaim("shop"))
	}
}

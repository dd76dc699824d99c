package integration

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
)

// indent indents every line by two columns.
func indent(text string) string { return strings.ReplaceAll(text, "\n", "\n  ") }

// convert converts parsed YAML to a typed value.
func convert(from, into any) error {
	raw, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, into)
}

// volume creates a volume of the given size that any claim may bind.
func (s *testEnv) volume(size string) {
	s.t.Helper()
	err := s.api.Create(s.t.Context(), &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: s.namespace + "-" + strings.ToLower(size)},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:               corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)},
			AccessModes:            []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/data"}},
		},
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

func TestInstanceRunsOwnDatabase(t *testing.T) {
	t.Parallel()
	s := &testEnv{api: apiServer(t)}
	s.operator = start(t, cluster.Get(t).Namespace(t))
	s.volume("10Gi")
	i := &v1alpha1.FireboltInstance{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	s.create(i)
	expect.Condition(t, s.api, i, v1alpha1.ConditionReady, metav1.ConditionTrue)
	for _, c := range six {
		expect.Condition(t, s.api, i, c, map[bool]metav1.ConditionStatus{true: metav1.ConditionTrue, false: metav1.ConditionFalse}[c == "Available" || c == "Upgradable"])
	}
	if want := "shop-metadata." + s.namespace + ".svc.cluster.local:7000"; i.Status.MetadataEndpoint != want || !i.Status.MetadataReady {
		t.Errorf("endpoint = %q, want %q", i.Status.MetadataEndpoint, want)
	}
	if len(i.Spec.ID) != 26 || i.Status.Phase != v1alpha1.InstanceReady {
		t.Errorf("id = %q, phase = %q", i.Spec.ID, i.Status.Phase)
	}
	if want := "shop-gateway." + s.namespace + ".svc.cluster.local"; i.Status.GatewayEndpoint != want || !i.Status.GatewayReady {
		t.Errorf("gateway endpoint = %q, want %q", i.Status.GatewayEndpoint, want)
	}
	secret := &corev1.Secret{}
	if err := s.api.Get(t.Context(), client.ObjectKey{Namespace: s.namespace, Name: "shop-metadata-postgres-creds"}, secret); err != nil {
		t.Fatal(err)
	}
	password := string(secret.Data["password"])
	if len(password) != 24 {
		t.Errorf("password has %d characters", len(password))
	}

	s.checkRestartWritesNothing(2 * short)

	// A lost password cannot be regenerated: the data was initialized with the old one.
	s.remove(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "shop-metadata-postgres-creds"}})
	before := i.DeepCopy()
	i.Labels = map[string]string{"touched": "yes"}
	i.Annotations = map[string]string{"touched": "yes"}
	if err := s.api.Patch(t.Context(), i, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	s.waitForInstanceReason(i, v1alpha1.ReasonPostgresCredentialsLost)
}

// waitForInstanceReason waits until the instance's Ready has the reason.
func (s *testEnv) waitForInstanceReason(i *v1alpha1.FireboltInstance, reason string) {
	s.t.Helper()
	expect.Object(s.t, s.api, i, func(i *v1alpha1.FireboltInstance) error {
		c := meta.FindStatusCondition(i.Status.Conditions, v1alpha1.ConditionReady)
		if c == nil || c.Reason != reason || c.Status != metav1.ConditionFalse {
			return fmt.Errorf("Ready = %+v", c)
		}
		return nil
	})
}

func TestInstanceReportsInvalidSecret(t *testing.T) {
	t.Parallel()
	s := &testEnv{api: apiServer(t)}
	s.operator = start(t, cluster.Get(t).Namespace(t))
	i := instance("shop")
	s.create(i)
	s.waitForInstanceReason(i, v1alpha1.ReasonPostgresSecretPreflightFailed)
	if i.Status.MetadataEndpoint != "" {
		t.Errorf("endpoint = %q", i.Status.MetadataEndpoint)
	}
	s.create(credentials())
	expect.Condition(t, s.api, i, v1alpha1.ConditionReady, metav1.ConditionTrue)
}

func TestStoppedInstanceWaitsForEngines(t *testing.T) {
	t.Parallel()
	s := newTestEnv(t)
	e := engineOf("a", 1)
	s.create(e)
	s.waitForRollout(e, v1alpha1.PhaseStable, 0)
	i := instance("shop")
	i.Namespace = s.namespace
	if err := s.api.Get(t.Context(), client.ObjectKeyFromObject(i), i); err != nil {
		t.Fatal(err)
	}
	before := i.DeepCopy()
	i.Annotations = map[string]string{v1alpha1.AnnotationCommand: v1alpha1.CommandStopped}
	if err := s.api.Patch(t.Context(), i, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	metadata := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "shop-metadata"}}
	expect.Never(t, short, func() error {
		if err := s.api.Get(t.Context(), client.ObjectKeyFromObject(metadata), metadata); err != nil {
			return err
		}
		if *metadata.Spec.Replicas != 1 {
			return fmt.Errorf("metadata was stopped while an engine runs")
		}
		return nil
	})
	s.edit(e, func(e *v1alpha1.FireboltEngine) { e.Spec.Replicas = 0 })
	expect.Condition(t, s.api, i, "Stopped", metav1.ConditionTrue)
	s.waitForInstanceReason(i, v1alpha1.ReasonStopped)
	gateway := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "shop-gateway"}}
	s.read(gateway)
	if *gateway.Spec.Replicas != 0 || i.Status.GatewayEndpoint != "" || i.Status.MetadataEndpoint != "" {
		t.Errorf("gateway has %d replicas, status %+v", *gateway.Spec.Replicas, i.Status)
	}

	// Creating an engine does not start the instance; removing the command does.
	b := engineOf("b", 1)
	s.create(b)
	expect.Never(t, short, func() error {
		s.read(metadata)
		if *metadata.Spec.Replicas != 0 {
			return fmt.Errorf("metadata runs although the instance is stopped")
		}
		return nil
	})
	s.editInstance(func(i *v1alpha1.FireboltInstance) { i.Annotations = nil })
	s.waitForRollout(b, v1alpha1.PhaseStable, 0)
	s.instanceIs(v1alpha1.InstanceReady, v1alpha1.ConditionReady, v1alpha1.ReasonAllComponentsReady)
}

// The operator's own database stops after the last pod of the metadata service when the
// instance stops, and is deleted, except for its volume, when the spec names an external one.
func TestInstanceDatabaseStopsLastAndIsReplaceable(t *testing.T) {
	t.Parallel()
	s := &testEnv{api: apiServer(t)}
	s.operator = start(t, cluster.Get(t).Namespace(t))
	s.volume("10Gi")
	s.create(&v1alpha1.FireboltInstance{ObjectMeta: metav1.ObjectMeta{Name: "shop"}})
	s.instanceIs(v1alpha1.InstanceReady, v1alpha1.ConditionReady, v1alpha1.ReasonAllComponentsReady)
	key := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: s.namespace, Name: name} }
	metadata, database := &appsv1.Deployment{ObjectMeta: key("shop-metadata")}, &appsv1.StatefulSet{ObjectMeta: key("shop-metadata-pg")}

	s.editInstance(func(i *v1alpha1.FireboltInstance) {
		i.Annotations = map[string]string{v1alpha1.AnnotationCommand: v1alpha1.CommandStopped}
	})
	expect.Object(t, s.api, database, func(d *appsv1.StatefulSet) error {
		if *d.Spec.Replicas != 0 {
			return fmt.Errorf("%d replicas", *d.Spec.Replicas)
		}
		return nil
	})
	s.read(metadata)
	if metadata.Status.Replicas != 0 {
		t.Errorf("the database stopped before %d pods of the metadata service", metadata.Status.Replicas)
	}
	expect.Condition(t, s.api, s.getInstance(), "Stopped", metav1.ConditionTrue)
	s.editInstance(func(i *v1alpha1.FireboltInstance) { i.Annotations = nil })
	s.instanceIs(v1alpha1.InstanceReady, v1alpha1.ConditionReady, v1alpha1.ReasonAllComponentsReady)

	s.create(credentials())
	s.editInstance(func(i *v1alpha1.FireboltInstance) { i.Spec.Metadata.Postgres = instance("shop").Spec.Metadata.Postgres })
	expect.Deleted(t, s.api, database)
	s.instanceIs(v1alpha1.InstanceReady, v1alpha1.ConditionReady, v1alpha1.ReasonAllComponentsReady)
	s.read(&corev1.PersistentVolumeClaim{ObjectMeta: key("data-shop-metadata-pg-0")}, &corev1.Secret{ObjectMeta: key("shop-metadata-postgres-creds")})
}

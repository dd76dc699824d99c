package removefinalizers_test

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/removefinalizers"
)

// createDatabase creates the database of an earlier operator, and waits for its volume claim, which Kubernetes deletes
// with the StatefulSet.
func (s testEnv) createDatabase(owner client.Object) (*appsv1.StatefulSet, *corev1.PersistentVolumeClaim) {
	s.Helper()
	labels := map[string]string{"database": owner.GetName()}
	set := &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.namespace, Name: owner.GetName() + "-metadata-pg",
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, v1alpha1.GroupVersion.WithKind("FireboltInstance"))},
		},
		Spec: appsv1.StatefulSetSpec{
			Replicas: new(int32(1)), Selector: &metav1.LabelSelector{MatchLabels: labels},
			PersistentVolumeClaimRetentionPolicy: &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{WhenDeleted: "Delete", WhenScaled: "Retain"},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "postgresql", Image: "postgres:15"}}},
			},
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
			}}},
		},
	}
	if err := s.client.Create(s.Context(), set); err != nil {
		s.Fatal(err)
	}
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "data-" + set.Name + "-0"}}
	expect.Object(s, s.client, claim, func(c *corev1.PersistentVolumeClaim) error {
		if len(c.OwnerReferences) != 1 {
			return fmt.Errorf("%d owners", len(c.OwnerReferences))
		}
		return nil
	})
	return set, claim
}

// TestCommandRetainsVolumes has a database whose pod never becomes ready, so that Kubernetes does not apply its policy.
func TestCommandRetainsVolumes(t *testing.T) {
	s := newTestEnv(t)
	instance := s.create("FireboltInstance", "i", "{gateway: {}, metadata: {}}", v1alpha1.InstanceFinalizer)
	set, claim := s.createDatabase(instance)
	other := s.create("FireboltInstance", "other", "{gateway: {}, metadata: {}}")
	s.create("FireboltInstance", "foreign", "{gateway: {}, metadata: {}}", v1alpha1.InstanceFinalizer)
	foreign := set.DeepCopy() // has the name of a database of "foreign", and another owner
	foreign.ObjectMeta = metav1.ObjectMeta{
		Namespace: s.namespace, Name: "foreign-metadata-pg",
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(other, v1alpha1.GroupVersion.WithKind("FireboltInstance"))},
	}
	if err := s.client.Create(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	if err := s.client.Delete(t.Context(), instance); err != nil {
		t.Fatal(err)
	}

	env := s.env()
	env.Client = s.clientAs()
	expect.Eventually(t, expect.Long, func() error { // a new role applies with a delay
		return env.Client.List(t.Context(), &metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{
			APIVersion: v1alpha1.GroupVersion.String(), Kind: "FireboltInstanceList",
		}}, client.InNamespace(s.namespace))
	})
	if out, err := s.run(removefinalizers.Command{}, env); err != "" {
		t.Fatalf("%s %s", out, err)
	}
	expect.Deleted(t, s.client, set)
	for _, o := range []client.Object{claim, foreign} {
		if err := s.client.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
			t.Fatal(err)
		}
	}
	if claim.DeletionTimestamp != nil || len(claim.OwnerReferences) > 0 {
		t.Errorf("the volume goes with its StatefulSet: deleted at %v, owners %v", claim.DeletionTimestamp, claim.OwnerReferences)
	}
	if p := foreign.Spec.PersistentVolumeClaimRetentionPolicy; p.WhenDeleted != "Delete" {
		t.Errorf("the StatefulSet of another owner has the policy %v", p)
	}
}

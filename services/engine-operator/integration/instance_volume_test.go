package integration

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
)

// newLegacyVolume returns a legacy instance that serves, and whose volume claim Kubernetes deletes with the StatefulSet.
func newLegacyVolume(t *testing.T) (*legacyEnv, *corev1.PersistentVolumeClaim) {
	t.Helper()
	l := newLegacyEnv(t)
	l.serves()
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: names.PostgresClaim("shop")}}
	expect.Object(t, l.api, claim, func(c *corev1.PersistentVolumeClaim) error {
		if len(c.OwnerReferences) != 1 {
			return fmt.Errorf("%d owners", len(c.OwnerReferences))
		}
		return nil
	})
	return l, claim
}

func pauseInstance(i *v1alpha1.FireboltInstance) {
	i.Annotations = map[string]string{v1alpha1.AnnotationCommand: v1alpha1.CommandPaused}
}

// deleteInstance deletes the instance, changed by edit, before this operator starts, and checks that the volume claim stays.
func (l *legacyEnv) deleteInstance(claim *corev1.PersistentVolumeClaim, edit func(*v1alpha1.FireboltInstance)) {
	l.t.Helper()
	i := l.editInstance(edit)
	l.remove(i)
	l.operator = start(l.t, l.namespace)
	expect.Deleted(l.t, l.api, i)
	l.checkVolume(claim)
}

// checkVolume waits until the StatefulSet is deleted, and checks that its volume claim stays.
func (l *legacyEnv) checkVolume(claim *corev1.PersistentVolumeClaim) {
	l.t.Helper()
	expect.Deleted(l.t, l.api, l.database())
	l.read(claim)
	if claim.DeletionTimestamp != nil || len(claim.OwnerReferences) > 0 {
		l.t.Errorf("the volume goes with its StatefulSet: deleted at %v, owners %v", claim.DeletionTimestamp, claim.OwnerReferences)
	}
}

// TestDeletionRetainsLegacyVolume deletes legacy instances whose database this operator never applied.
func TestDeletionRetainsLegacyVolume(t *testing.T) {
	t.Parallel()
	cases := map[string]func(*v1alpha1.FireboltInstance){
		"paused":   pauseInstance,
		"rejected": func(i *v1alpha1.FireboltInstance) { i.Spec.Metadata.Template.Spec.Hostname = "mine" },
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, claim := newLegacyVolume(t)
			l.deleteInstance(claim, change)
		})
	}
}

// TestDeletionRetainsVolumeOfStoppedDatabase has no pod: Kubernetes applies a new retention policy only to the claims of pods.
func TestDeletionRetainsVolumeOfStoppedDatabase(t *testing.T) {
	t.Parallel()
	l, claim := newLegacyVolume(t)
	database := l.database()
	if err := l.api.Patch(t.Context(), database, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"replicas":0}}`)), earlierManager); err != nil {
		t.Fatal(err)
	}
	expect.Object(t, l.api, database, func(d *appsv1.StatefulSet) error {
		if d.Status.ObservedGeneration != d.Generation || d.Status.Replicas > 0 {
			return fmt.Errorf("status %+v", d.Status)
		}
		return nil
	})
	l.deleteInstance(claim, pauseInstance)
}

// TestPauseRetainsLegacyVolume deletes the StatefulSet of a paused instance by hand.
func TestPauseRetainsLegacyVolume(t *testing.T) {
	t.Parallel()
	l, claim := newLegacyVolume(t)
	l.editInstance(pauseInstance)
	before := l.running()
	l.operator = start(t, l.namespace)
	expect.Object(t, l.api, l.database(), func(d *appsv1.StatefulSet) error {
		if p := d.Spec.PersistentVolumeClaimRetentionPolicy; p.WhenDeleted != appsv1.RetainPersistentVolumeClaimRetentionPolicyType {
			return fmt.Errorf("policy %+v", p)
		}
		return nil
	})
	expect.Object(t, l.api, claim, func(c *corev1.PersistentVolumeClaim) error {
		if len(c.OwnerReferences) > 0 {
			return fmt.Errorf("owners %v", c.OwnerReferences)
		}
		return nil
	})
	if diff := cmp.Diff(before, l.running()); diff != "" {
		t.Errorf("running workloads changed (-before +after):\n%s", diff)
	}
	l.remove(l.database())
	l.checkVolume(claim)
}

// TestExternalDatabaseRetainsLegacyVolume has an instance that was switched to an external database while no operator ran.
func TestExternalDatabaseRetainsLegacyVolume(t *testing.T) {
	t.Parallel()
	l, claim := newLegacyVolume(t)
	l.create(credentials())
	i := l.editInstance(func(i *v1alpha1.FireboltInstance) {
		i.Spec.Metadata.Postgres = instance("shop").Spec.Metadata.Postgres
	})
	l.operator = start(t, l.namespace)
	l.checkVolume(claim)

	// The password of the volume outlives the instance too.
	l.remove(i)
	expect.Deleted(t, l.api, i)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: names.PostgresSecret("shop")}}
	l.read(secret)
	if secret.DeletionTimestamp != nil || len(secret.OwnerReferences) > 0 {
		t.Errorf("the password of the volume goes with the instance: owners %v", secret.OwnerReferences)
	}
}

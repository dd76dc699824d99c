package integration

import (
	"fmt"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/mysqltest"

	"github.com/flotilla-dev/flotilla/services/ingester/api"
)

const state = "SELECT CONCAT_WS(' ', IF(delete_time IS NULL, 'live', 'closed'), IF(evict_time IS NULL, 'here', 'evicted'), algorithm) FROM model WHERE uid = ?"

// TestUpdatesDuringEvictionAreStored changes objects continuously from the annotation until
// the API server rejects the change.
func TestUpdatesDuringEvictionAreStored(t *testing.T) {
	const objects = 20
	b := newEnv(t)
	b.start()
	for i := range objects { // one after the other, since a loop of updates takes a processor
		m := b.finalizer(b.create(b.model(fmt.Sprintf("m%d", i))))
		b.stored(m)
		last, accepted := m.DeepCopy(), m.DeepCopy()
		patch := annotation(api.ImmutableAnnotation)
		for n := 0; ; n++ {
			err := b.client.Patch(t.Context(), last, client.RawPatch("application/merge-patch+json", []byte(patch)))
			if apierrors.IsNotFound(err) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			accepted = last.DeepCopy()
			patch = fmt.Sprintf(`{"spec":{"algorithm":"a%d"}}`, n)
		}
		algorithm, found, err := unstructured.NestedString(accepted.Object, "spec", "algorithm")
		if err != nil || !found {
			t.Fatalf("the last accepted object has no algorithm: %v", err)
		}
		b.row(m, "live evicted "+algorithm, state)
		version, err := strconv.ParseInt(accepted.GetResourceVersion(), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		b.row(m, "1", fmt.Sprintf("SELECT res_version >= %d FROM model WHERE uid = ?", version))
	}
}

// TestTerminatingObjectIsNotEvicted annotates a terminating object, held by a foreign
// finalizer, as immutable.
func TestTerminatingObjectIsNotEvicted(t *testing.T) {
	b := newEnv(t)
	b.start()
	m := b.model("churn")
	m.SetFinalizers([]string{"example.com/other"})
	b.finalizer(b.create(m))
	b.stored(m)
	b.delete(m.DeepCopy())
	b.row(m, "closed here xgboost", state)
	b.patch(m, annotation(api.ImmutableAnnotation))
	b.patch(m, `{"spec":{"algorithm":"lightgbm"}}`)
	b.row(m, "closed here lightgbm", state)
	b.patch(m, `{"metadata":{"finalizers":null},"spec":{"algorithm":"late"}}`)
	b.expectDeleted(m)
	b.row(m, "closed here lightgbm", state)
	b.published()
	b.events(m, "created", "deleted")
}

// TestImmutableObjectDeletedDuringOutageIsClosed deletes an object that a foreign finalizer holds.
func TestImmutableObjectDeletedDuringOutageIsClosed(t *testing.T) {
	server := mysqltest.Private(t)
	b := newEnvOn(t, server.DSN())
	b.start()
	m := b.model("churn")
	m.SetFinalizers([]string{"example.com/other"})
	b.finalizer(b.create(m))
	b.stored(m)
	server.Stop()
	b.patch(m, annotation(api.ImmutableAnnotation))
	b.delete(m.DeepCopy())
	server.Start()
	b.row(m, "closed here xgboost", state)
	expect.Eventually(t, expect.Long, func() error {
		if err := b.client.Get(t.Context(), client.ObjectKeyFromObject(m), m); err != nil {
			return err
		}
		if n := len(m.GetFinalizers()); n != 1 {
			return fmt.Errorf("%d finalizers", n)
		}
		return nil
	})
	b.patch(m, `{"spec":{"algorithm":"lightgbm"}}`)
	b.row(m, "closed here lightgbm", state)
	b.patch(m, `{"metadata":{"finalizers":null}}`)
	b.expectDeleted(m)
	b.row(m, "closed here lightgbm", state)
}

// TestEvictionKeepsDependents evicts an object that owns another one. The garbage collector must release the dependent, and
// the row must not show the deletion, after which it could not be restored.
func TestEvictionKeepsDependents(t *testing.T) {
	b := newEnv(t)
	b.start()
	m := b.finalizer(b.create(b.model("churn")))
	b.stored(m)
	dependent := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Name: "dependent", Namespace: b.namespace,
		OwnerReferences: []metav1.OwnerReference{{APIVersion: api.GroupVersion, Kind: "Model", Name: m.GetName(), UID: m.GetUID()}},
	}}
	if err := b.client.Create(t.Context(), dependent); err != nil {
		t.Fatal(err)
	}
	b.patch(m, annotation(api.ImmutableAnnotation))
	b.expectDeleted(m)
	expect.Eventually(t, expect.Long, func() error {
		if err := b.client.Get(t.Context(), client.ObjectKeyFromObject(dependent), dependent); err != nil {
			return err
		}
		if n := len(dependent.OwnerReferences); n > 0 || dependent.DeletionTimestamp != nil {
			return fmt.Errorf("%d owner references, deleted at %v", n, dependent.DeletionTimestamp)
		}
		return nil
	})
	b.row(m, "live evicted xgboost", state)
	b.row(m, "0", "SELECT json LIKE '%deletionTimestamp%' OR json LIKE '%\"orphan\"%' FROM model WHERE uid = ?")
	b.published()
	b.events(m, "created", "evicted")
}

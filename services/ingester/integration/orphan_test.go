package integration

import (
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"

	"github.com/flotilla-dev/flotilla/services/ingester/api"
)

// TestRowIsClosedAfterForcedFinalizerRemoval: the object is deleted while the ingester
// watches, without a Terminating state that the ingester could process.
func TestRowIsClosedAfterForcedFinalizerRemoval(t *testing.T) {
	b := newEnv(t)
	b.start()
	m := b.finalizer(b.create(b.model("churn")))
	b.stored(m)
	b.patch(m.DeepCopy(), `{"metadata":{"finalizers":null}}`)
	b.delete(m)
	b.expectDeleted(m)
	b.row(m, "closed", open)
}

// TestDeletionIsPublishedOnceWithForeignFinalizer: the removal of our finalizer and the
// deletion that waits for the other one are versions of the object, and neither has an event.
func TestDeletionIsPublishedOnceWithForeignFinalizer(t *testing.T) {
	for how, remove := range map[string]func(*env, *unstructured.Unstructured){
		"annotated": func(b *env, m *unstructured.Unstructured) { b.patch(m, annotation(api.DeletingAnnotation)) },
		"deleted":   (*env).delete,
	} {
		t.Run(how, func(t *testing.T) {
			b := newEnv(t)
			b.start()
			m := b.model("churn")
			m.SetFinalizers([]string{"example.com/other"})
			b.finalizer(b.create(m))
			b.stored(m)
			before := b.counter("unchanged_total")
			remove(b, m.DeepCopy())
			expect.Eventually(t, expect.Long, func() error {
				if err := b.client.Get(t.Context(), client.ObjectKeyFromObject(m), m); err != nil {
					return err
				}
				if m.GetDeletionTimestamp() == nil || len(m.GetFinalizers()) != 1 {
					return errors.New("the object is not Terminating, or still ours")
				}
				return nil
			})
			expect.Eventually(t, expect.Long, func() error {
				if b.counter("unchanged_total") == before {
					return errors.New("no version after the deletion was processed")
				}
				return nil
			})
			b.row(m, "closed", open)
			b.patch(m, `{"metadata":{"finalizers":null}}`)
			b.expectDeleted(m)
			b.published()
			b.events(m, "created", "deleted")
		})
	}
}

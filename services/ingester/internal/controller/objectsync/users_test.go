package objectsync

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flotilla-dev/flotilla/services/ingester/api"
)

// users change the object like people and other controllers.
type users struct {
	*apiServer
	rand *rand.Rand
	// content is that of the last update that the API server acknowledged: the algorithm and the marks.
	content string
	deleted bool // a user requested the deletion before the object was evicted
	forced  bool // a user removed our finalizer and deleted the object
}

func (u *users) has(finalizer string) bool {
	return slices.Contains(u.object.GetFinalizers(), finalizer)
}

// lives reports whether the object exists and its deletion was not requested.
func (u *users) lives() bool {
	return u.object != nil && u.object.GetDeletionTimestamp() == nil && !api.IsSet(u.object.GetAnnotations(), api.DeletingAnnotation)
}

// released reports whether the object no longer exists, or only foreign finalizers hold it.
func (u *users) released() bool {
	return u.object == nil || u.object.GetDeletionTimestamp() != nil && !u.has(api.IngesterFinalizer)
}

// act makes one change and returns its description.
func (u *users) act() string {
	switch u.rand.IntN(12) {
	case 0, 1, 2:
		u.change(func(o *unstructured.Unstructured) {
			if err := unstructured.SetNestedField(o.Object, fmt.Sprintf("algorithm-%d", u.version+1), "spec", "algorithm"); err != nil {
				u.t.Fatal(err)
			}
		})
		u.acknowledge()
		return "update"
	case 3, 4:
		u.mark(api.ImmutableAnnotation, "true")
		return "mark immutable"
	case 5:
		return u.requestDeletion()
	case 6:
		if u.object.GetDeletionTimestamp() != nil {
			return "nothing"
		}
		u.mark(api.DeletingAnnotation, "true")
		u.deleted = true
		return "mark deleting"
	case 7:
		return u.addFinalizer()
	case 8:
		u.mark(api.ImmutableAnnotation, "")
		return "unmark immutable"
	case 9:
		u.mark(api.DeletingAnnotation, "")
		u.deleted = u.object.GetDeletionTimestamp() != nil && u.deleted
		return "unmark deleting"
	case 10:
		return u.forceDelete()
	default:
		return u.removeFinalizer(foreign, "remove finalizer")
	}
}

// mark sets an annotation, or removes it if the value is empty.
func (u *users) mark(name, value string) {
	if u.object.GetAnnotations()[name] == value {
		return
	}
	u.change(func(o *unstructured.Unstructured) {
		annotations := o.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[name] = value
		if value == "" {
			delete(annotations, name)
		}
		o.SetAnnotations(annotations)
	})
	u.acknowledge()
}

// acknowledge keeps the content that the row must have in the end.
func (u *users) acknowledge() {
	algorithm, _, err := unstructured.NestedString(u.object.Object, "spec", "algorithm")
	if err != nil {
		u.t.Fatal(err)
	}
	annotations := u.object.GetAnnotations()
	u.content = strings.Join([]string{algorithm, annotations[api.ImmutableAnnotation], annotations[api.DeletingAnnotation]}, " ")
}

func (u *users) requestDeletion() string {
	if u.object.GetDeletionTimestamp() != nil || !u.has(api.IngesterFinalizer) {
		return "nothing" // without our finalizer an eviction cannot be distinguished from a deletion
	}
	u.deleted = true
	u.remove()
	return "delete"
}

// forceDelete deletes the object without the ingester, which may still see it alive.
func (u *users) forceDelete() string {
	if u.object.GetDeletionTimestamp() != nil || !u.has(api.IngesterFinalizer) || u.rand.IntN(2) == 0 {
		return "nothing"
	}
	u.deleted, u.forced = true, true
	u.removeFinalizer(api.IngesterFinalizer, "")
	u.remove()
	return "force deletion"
}

func (u *users) addFinalizer() string {
	if u.object.GetDeletionTimestamp() != nil || u.has(foreign) {
		return "nothing"
	}
	u.change(func(o *unstructured.Unstructured) { o.SetFinalizers(append(o.GetFinalizers(), foreign)) })
	return "add finalizer"
}

func (u *users) removeFinalizer(name, what string) string {
	if !u.has(name) {
		return "nothing"
	}
	u.change(func(o *unstructured.Unstructured) {
		o.SetFinalizers(slices.DeleteFunc(slices.Clone(o.GetFinalizers()), func(f string) bool { return f == name }))
	})
	return what
}

// collectGarbage ends the deletion of an evicted object, as the garbage collector does once no object depends on it.
func (h *history) collectGarbage() {
	if h.object != nil {
		h.note(h.removeFinalizer(metav1.FinalizerOrphanDependents, "collect garbage"))
	}
}

// closeRow closes the open row: the HTTP API does for an object that exists in storage only. The row of
// any other object is closed by mistake.
func (h *history) closeRow() {
	h.Helper()
	if row := h.row(); !row.found || row.closed {
		return
	}
	model := &metav1.TypeMeta{APIVersion: api.GroupVersion, Kind: "Model"}
	if err := h.store.Delete(h.Context(), model, h.key.Namespace, h.key.Name); err != nil {
		h.Fatal(err)
	}
	h.closed = true
	if h.released() {
		h.deleted, h.evicted = true, false
	}
	h.note("close the row")
}

// checkRejected checks that an object whose finalizer is rejected is stored, and ends the rejection.
func (h *history) checkRejected() {
	h.Helper()
	if h.object != nil && h.rejecting && !h.has(api.IngesterFinalizer) {
		h.deliver(len(h.versions))
		for range 2 { // the first one opens a row that was closed by mistake
			h.reconcile()
		}
		if row := h.row(); h.lives() && (!row.found || row.closed || row.content != h.content) {
			h.Errorf("%s exists with %q and no finalizer can be added, its row is %+v", h.uid, h.content, row)
		}
	}
	h.rejecting = false
}

// checkForced checks the row of an object that was deleted without the ingester, which may have
// evicted it before.
func (h *history) checkForced() {
	h.Helper()
	h.sweep()
	if row := h.row(); row.found && !row.closed && !row.evicted {
		h.Errorf("the row of %s, which no longer exists, stays open: %+v", h.uid, row)
	}
}

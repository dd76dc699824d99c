package objectsync

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strconv"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flotilla-dev/flotilla/services/ingester/api"
)

const foreign = "example.com/other"

// apiServer is a fake API server with one object. It implements the requests of the ingester.
type apiServer struct {
	t       *testing.T
	object  *unstructured.Unstructured // nil once it is deleted
	version int
	// versions are all states that a watch shows, the last one of a deletion included.
	versions []watchedVersion
	// precondition is the version of the last deletion by the ingester.
	precondition int
	// fault runs before and after each request of the ingester takes effect.
	fault func() bool
	// rejecting: a policy, or a CRD that became stricter, rejects each patch of the ingester.
	rejecting bool
}

type watchedVersion struct {
	json    []byte
	deleted bool
}

// commit stores the object as a new version, and deletes a terminating one without finalizers.
func (a *apiServer) commit(changed *unstructured.Unstructured) {
	a.version++
	changed.SetResourceVersion(strconv.Itoa(a.version))
	ends := changed.GetDeletionTimestamp() != nil && len(changed.GetFinalizers()) == 0
	show := changed
	if ends { // the state that is stored last, at the version of the deletion
		show = a.object.DeepCopy()
		show.SetResourceVersion(changed.GetResourceVersion())
	}
	text, err := json.Marshal(show.Object)
	if err != nil {
		a.t.Fatal(err)
	}
	a.versions = append(a.versions, watchedVersion{text, ends})
	a.object = changed
	if ends {
		a.object = nil
	}
}

// change updates the object, as any client may.
func (a *apiServer) change(f func(*unstructured.Unstructured)) {
	changed := a.object.DeepCopy()
	f(changed)
	a.commit(changed)
}

// remove deletes the object, as any client may, and adds finalizers.
func (a *apiServer) remove(finalizers ...string) {
	if a.object.GetDeletionTimestamp() != nil {
		return
	}
	a.change(func(o *unstructured.Unstructured) {
		now := metav1.Unix(2e9, 0)
		o.SetDeletionTimestamp(&now)
		o.SetFinalizers(append(o.GetFinalizers(), finalizers...))
		o.SetGeneration(o.GetGeneration() + 1)
	})
}

// ServeHTTP handles the ingester's requests: reads, patches of finalizers, and deletions.
func (a *apiServer) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		a.t.Error(err)
	}
	if a.fault() {
		answer(a.t, w, apierrors.NewInternalError(fmt.Errorf("broke before")).Status())
		return
	}
	var reply any
	switch req.Method {
	case http.MethodGet:
		reply = a.get()
	case http.MethodPatch:
		reply = a.patch(body)
	case http.MethodDelete:
		reply = a.delete(body)
	default:
		a.t.Errorf("unexpected %s", req.Method)
	}
	if a.fault() {
		reply = apierrors.NewInternalError(fmt.Errorf("broke after")).Status()
	}
	answer(a.t, w, reply)
}

func answer(t *testing.T, w http.ResponseWriter, reply any) {
	t.Helper()
	w.Header().Set("Content-Type", "application/json")
	if s, ok := reply.(metav1.Status); ok && s.Code != 0 {
		s.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
		reply = s
		w.WriteHeader(int(s.Code))
	}
	if err := json.NewEncoder(w).Encode(reply); err != nil {
		t.Error(err)
	}
}

var models = schema.GroupResource{Group: api.Group, Resource: "models"}

// reject returns the response to a request with another version as precondition.
func (a *apiServer) reject(version string, uid types.UID) *metav1.Status {
	var status metav1.Status
	switch {
	case a.object == nil:
		status = apierrors.NewNotFound(models, "m").Status()
	case version != a.object.GetResourceVersion(), uid != a.object.GetUID():
		status = apierrors.NewConflict(models, "m", fmt.Errorf("is at %s", a.object.GetResourceVersion())).Status()
	default:
		return nil
	}
	return &status
}

func (a *apiServer) get() any {
	if a.object == nil {
		return apierrors.NewNotFound(models, "m").Status()
	}
	return maps.Clone(a.object.Object)
}

func (a *apiServer) patch(body []byte) any {
	var p struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
	}
	if err := json.Unmarshal(body, &p); err != nil {
		a.t.Error(err)
	}
	if rejected := a.reject(p.Metadata.ResourceVersion, p.Metadata.UID); rejected != nil {
		return *rejected
	}
	if a.rejecting {
		return apierrors.NewInvalid(schema.GroupKind{Group: api.Group, Kind: "Model"}, "m", nil).Status()
	}
	changed := a.object.DeepCopy()
	changed.SetFinalizers(p.Metadata.Finalizers)
	a.commit(changed)
	return maps.Clone(changed.Object)
}

func (a *apiServer) delete(body []byte) any {
	var o metav1.DeleteOptions
	if err := json.Unmarshal(body, &o); err != nil {
		a.t.Error(err)
	}
	if rejected := a.reject(*o.Preconditions.ResourceVersion, *o.Preconditions.UID); rejected != nil {
		return *rejected
	}
	a.precondition, _ = strconv.Atoi(*o.Preconditions.ResourceVersion)
	if api.IsSet(a.object.GetAnnotations(), api.DeletingAnnotation) {
		if o.PropagationPolicy != nil {
			a.t.Errorf("deleted with policy %s, want the default", *o.PropagationPolicy)
		}
		a.remove()
	} else { // an eviction
		if o.PropagationPolicy == nil || *o.PropagationPolicy != metav1.DeletePropagationOrphan {
			a.t.Error("evicted with its dependents")
		}
		a.remove(metav1.FinalizerOrphanDependents) // until the garbage collector has released the dependents
	}
	return metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusSuccess}
}

package httpapi

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flotilla-dev/flotilla/services/ingester/api"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
	"github.com/flotilla-dev/flotilla/services/ingester/storage"
)

func TestDelete(t *testing.T) {
	terminating, marked := model(7), model(7)
	now := metav1.Now()
	terminating.SetDeletionTimestamp(&now)
	marked.SetAnnotations(map[string]string{api.DeletingAnnotation: "true"})
	mark := Mark{Namespace: "default", Name: "churn", UID: "uid-1"}
	versioned, dry := mark, mark
	versioned.ResourceVersion, dry.DryRun = "7", true
	tests := map[string]struct {
		cluster, store *unstructured.Unstructured
		query, body    string
		code           int
		message        string
		marks          []Mark
		closed         []string
	}{
		"in the cluster":                     {cluster: model(7), code: 202, message: "is marked for deletion", marks: []Mark{mark}},
		"in both":                            {cluster: model(7), store: model(7), code: 202, message: "is marked for deletion", marks: []Mark{mark}},
		"in storage only":                    {store: model(7), code: 200, message: "was in storage only and is deleted", closed: []string{"default metadata.uid=uid-1"}},
		"nowhere":                            {code: 404, message: `models.michelangelo.api "churn" not found`},
		"being deleted":                      {cluster: terminating, code: 202, message: "is being deleted already"},
		"marked before":                      {cluster: marked, code: 202, message: "is being deleted already"},
		"dry run in the cluster":             {cluster: model(7), query: "?dryRun=All", code: 202, message: "dry run: ", marks: []Mark{dry}},
		"dry run by the body":                {cluster: model(7), body: `{"dryRun":["All"]}`, code: 202, message: "dry run: ", marks: []Mark{dry}},
		"dry run in storage":                 {store: model(7), query: "?dryRun=All", code: 200, message: "dry run: "},
		"the right uid":                      {cluster: model(7), body: `{"kind":"DeleteOptions","apiVersion":"v1","preconditions":{"uid":"uid-1"}}`, code: 202, marks: []Mark{mark}},
		"the right version":                  {cluster: model(7), body: `{"preconditions":{"resourceVersion":"7"}}`, code: 202, marks: []Mark{versioned}},
		"another uid":                        {cluster: model(7), body: `{"preconditions":{"uid":"uid-2"}}`, code: 409, message: "precondition failed: uid is uid-1, want uid-2"},
		"another version":                    {cluster: model(7), body: `{"preconditions":{"resourceVersion":"6"}}`, code: 409, message: "precondition failed: resourceVersion is 7, want 6"},
		"another uid in storage":             {store: model(7), body: `{"preconditions":{"uid":"uid-2"}}`, code: 409, message: "uid is uid-1, want uid-2"},
		"the right version in storage":       {store: model(7), body: `{"preconditions":{"resourceVersion":"7","uid":"uid-1"}}`, code: 200, closed: []string{"default metadata.uid=uid-1"}},
		"what kubectl sends":                 {cluster: model(7), body: `{"propagationPolicy":"Background"}`, code: 202, marks: []Mark{mark}},
		"orphans":                            {cluster: model(7), body: `{"propagationPolicy":"Orphan"}`, code: 400, message: "propagationPolicy must be Background or absent"},
		"dependents first":                   {cluster: model(7), body: `{"propagationPolicy":"Foreground"}`, code: 400, message: "propagationPolicy must be Background or absent"},
		"a grace period":                     {cluster: model(7), body: `{"gracePeriodSeconds":30}`, code: 400, message: "gracePeriodSeconds must be 0 or absent"},
		"another dry run":                    {cluster: model(7), query: "?dryRun=Some", code: 400, message: `dryRun must be "All" or absent`},
		"an empty dry run":                   {cluster: model(7), query: "?dryRun=", code: 400, message: `dryRun must be "All" or absent`},
		"an unknown option":                  {cluster: model(7), body: `{"force":true}`, code: 400, message: `unknown field "force"`},
		"options of something else":          {cluster: model(7), body: `{"kind":"ListOptions"}`, code: 400, message: `the body is a "ListOptions", want DeleteOptions`},
		"a stored object without its uid":    {store: dbtest.Model("churn", "", 7), code: 500, message: "see the log"},
		"parameters of lists":                {cluster: model(7), query: "?labelSelector=a", code: 400, message: `unknown parameter "labelSelector", want one of dryRun`},
		"the annotation without the meaning": {cluster: withAnnotation(model(7), "no"), code: 202, message: "is marked for deletion", marks: []Mark{mark}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			b := newEnv(t)
			b.cluster.object, b.store.object = tc.cluster, tc.store
			s := b.status(b.send(http.MethodDelete, churn+tc.query, tc.body), tc.code, tc.message)
			if diff := cmp.Diff(tc.marks, b.cluster.marks); diff != "" {
				t.Errorf("marks (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.closed, b.store.closed); diff != "" {
				t.Errorf("closed (-want +got):\n%s", diff)
			}
			if tc.code < 300 && (s.Details == nil || s.Details.Name != "churn" || s.Details.Kind != "models" || s.Details.Group != api.Group) {
				t.Errorf("details %+v", s.Details)
			}
		})
	}
}

// A cluster without the CRD of a kind does not show whether an object exists.
func TestDeleteOfUnservedKindClosesNothing(t *testing.T) {
	unserved := apierrors.NewGenericServerResponse(http.StatusNotFound, "GET", models, "churn", "404 page not found", 0, true)
	for name, path := range map[string]string{
		"an object": churn, "a dry run": churn + "?dryRun=All", "a collection": root + "/namespaces/default/models",
	} {
		t.Run(name, func(t *testing.T) {
			b := newEnv(t)
			b.cluster.err, b.store.object = unserved, model(7)
			b.store.list = storage.ListResponse{Items: []runtime.Object{model(7)}}
			a := b.send(http.MethodDelete, path, "")
			b.status(a, http.StatusServiceUnavailable, "the Kubernetes API server does not serve models.michelangelo.api: install its CRD")
			if a.Header.Get("Retry-After") == "" {
				t.Error("the response has no Retry-After")
			}
			if len(b.store.closed) > 0 {
				t.Errorf("closed %v", b.store.closed)
			}
			if a := b.send(http.MethodGet, churn, ""); a.StatusCode != http.StatusOK {
				t.Errorf("the stored object has status %d", a.StatusCode)
			}
		})
	}
}

func withAnnotation(u *unstructured.Unstructured, value string) *unstructured.Unstructured {
	u.SetAnnotations(map[string]string{api.DeletingAnnotation: value})
	return u
}

var models = schema.GroupResource{Group: api.Group, Resource: "models"}

// An object may be deleted, or another one take its name, between the read and the patch.
func TestDeleteRetriesWhenObjectMoves(t *testing.T) {
	t.Run("evicted meanwhile", func(t *testing.T) {
		b := newEnv(t)
		b.cluster.object, b.store.object = model(7), model(8)
		b.cluster.mark = func(Mark) error {
			b.cluster.object = nil
			return apierrors.NewNotFound(models, "churn")
		}
		b.status(b.send(http.MethodDelete, churn, ""), http.StatusOK, "was in storage only")
		if diff := cmp.Diff([]string{"default metadata.uid=uid-1"}, b.store.closed); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("recreated meanwhile", func(t *testing.T) {
		b := newEnv(t)
		b.cluster.object = model(7)
		b.cluster.mark = func(m Mark) error {
			if m.UID == "uid-1" {
				b.cluster.object = dbtest.Model("churn", "uid-2", 9)
				return apierrors.NewConflict(models, "churn", errors.New("another uid"))
			}
			return nil
		}
		b.status(b.send(http.MethodDelete, churn, `{"preconditions":{"uid":"uid-1"}}`), http.StatusConflict, "uid is uid-2, want uid-1")
		b.cluster.object = model(7)
		b.status(b.send(http.MethodDelete, churn, ""), http.StatusAccepted, "is marked for deletion")
		if last := b.cluster.marks[len(b.cluster.marks)-1]; last.UID != "uid-2" {
			t.Errorf("marked %s", last.UID)
		}
	})
	t.Run("created before the row is read", func(t *testing.T) {
		b := newEnv(t)
		b.store.onRead = func() { b.cluster.object, b.store.object = model(7), model(7) }
		b.status(b.send(http.MethodDelete, churn, ""), http.StatusAccepted, "is marked for deletion")
		if len(b.store.closed) > 0 || len(b.cluster.marks) != 1 {
			t.Errorf("closed %v, marked %v", b.store.closed, b.cluster.marks)
		}
	})
	t.Run("on every attempt", func(t *testing.T) {
		b := newEnv(t)
		b.cluster.object = model(7)
		b.cluster.mark = func(Mark) error { return apierrors.NewConflict(models, "churn", errors.New("another uid")) }
		b.status(b.send(http.MethodDelete, churn, ""), http.StatusConflict, "changed while it was to be deleted")
		if len(b.cluster.marks) != attempts {
			t.Errorf("%d attempts, want %d", len(b.cluster.marks), attempts)
		}
	})
	t.Run("the API server leaves meanwhile", func(t *testing.T) {
		b := newEnv(t)
		b.cluster.object = model(7)
		b.cluster.mark = func(Mark) error { return errors.New("connection refused") }
		b.status(b.send(http.MethodDelete, churn, ""), http.StatusServiceUnavailable, "the Kubernetes API server does not answer")
	})
}

// collection is an environment with several objects.
type collection struct {
	*env
	live map[string]*unstructured.Unstructured
}

func newCollection(t *testing.T, stored ...*unstructured.Unstructured) *collection {
	t.Helper()
	c := &collection{live: map[string]*unstructured.Unstructured{}}
	c.env = newEnv(t, func(config *Config) {
		config.Cluster = &manyClusters{fakeCluster: config.Cluster.(*fakeCluster), live: c.live}
		config.Store = &manyStored{fakeStore: config.Store.(*fakeStore), stored: stored}
	})
	for _, u := range stored {
		c.store.list.Items = append(c.store.list.Items, runtime.Object(u))
		c.live[u.GetName()] = u.DeepCopy()
	}
	return c
}

func TestDeleteCollectionCountsOutcomes(t *testing.T) {
	one := func(name string) *unstructured.Unstructured { return dbtest.Model(name, "uid-"+name, 7) }
	stored := []*unstructured.Unstructured{one("marked"), one("closed"), one("pending"), one("relabelled"), one("reborn"), one("gone")}
	c := newCollection(t, stored...)
	c.store.list.Continue = "next"
	delete(c.live, "closed")
	delete(c.live, "gone")
	c.live["pending"].SetAnnotations(map[string]string{api.DeletingAnnotation: "true"})
	c.live["relabelled"].SetLabels(map[string]string{"team": "fraud"})
	c.live["relabelled"].SetResourceVersion("8")
	c.live["reborn"].SetUID("another")
	s := c.status(c.send(http.MethodDelete, objects+"?labelSelector=team%3Dgrowth&limit=6", ""), http.StatusAccepted,
		"6 of models: 1 marked for deletion, 1 deleted from storage, 1 being deleted already, 1 not found, 2 changed and skipped")
	if s.Continue != "next" {
		t.Errorf("continue is %q", s.Continue)
	}
	want := listRequest{options: metav1.ListOptions{LabelSelector: "team=growth", Limit: 6}}
	if diff := cmp.Diff(want, c.store.request, cmp.AllowUnexported(listRequest{})); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]Mark{{Namespace: "default", Name: "marked", UID: "uid-marked"}}, c.cluster.marks); diff != "" {
		t.Errorf("marks (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"default metadata.uid=uid-closed"}, c.store.closed); diff != "" {
		t.Errorf("closed (-want +got):\n%s", diff)
	}
}

// Only storage compares fields, so an object that changed since may no longer match.
func TestDeleteCollectionByFieldSkipsChangedObjects(t *testing.T) {
	c := newCollection(t, dbtest.Model("same", "uid-a", 7), dbtest.Model("newer", "uid-b", 7))
	c.live["newer"].SetResourceVersion("8")
	c.status(c.send(http.MethodDelete, objects+"?fieldSelector=algorithm%3Dx", ""), http.StatusAccepted, "1 marked for deletion, 0 deleted from storage, 0 being deleted already, 0 not found, 1 changed")
	c.status(c.send(http.MethodDelete, objects, ""), http.StatusAccepted, "2 of models: 2 marked for deletion")
}

func TestDeleteCollectionDryRun(t *testing.T) {
	c := newCollection(t, dbtest.Model("a", "uid-a", 7), dbtest.Model("b", "uid-b", 7))
	delete(c.live, "b")
	c.status(c.send(http.MethodDelete, objects+"?dryRun=All", ""), http.StatusAccepted, "1 marked for deletion, 1 deleted from storage")
	if len(c.store.closed) != 0 || len(c.cluster.marks) != 1 || !c.cluster.marks[0].DryRun {
		t.Errorf("closed %v, marked %v", c.store.closed, c.cluster.marks)
	}
}

func TestDeleteCollectionFailureHasCounts(t *testing.T) {
	c := newCollection(t, dbtest.Model("a", "uid-a", 7), dbtest.Model("b", "uid-b", 7))
	c.cluster.mark = func(m Mark) error {
		if m.Name == "b" {
			return errors.New("connection refused")
		}
		return nil
	}
	c.status(c.send(http.MethodDelete, objects, ""), http.StatusServiceUnavailable, "the deletion ended early, repeat it: ")
}

func TestDeleteCollectionRequiresNamespaceAndValidSelectors(t *testing.T) {
	c := newCollection(t, dbtest.Model("a", "uid-a", 7))
	for path, want := range map[string]string{
		root + "/models":                       "delete in one namespace at a time",
		objects + "?labelSelector=a%20b":       `parameter "labelSelector" cannot be read`,
		objects + "?limit=5000":                "from 1 to 1000",
		objects + "?filter=%7B%7D":             `unknown parameter "filter"`,
		objects + "?labelSelectors=team%3Dx":   `unknown parameter "labelSelectors"`,
		objects + "?orderBy=name":              `unknown parameter "orderBy"`,
		root + "/models?labelSelector=team%3D": "delete in one namespace at a time",
	} {
		c.status(c.send(http.MethodDelete, path, ""), http.StatusBadRequest, want)
	}
	c.status(c.send(http.MethodDelete, objects, `{"preconditions":{"uid":"a"}}`), http.StatusBadRequest, "preconditions are for the deletion of one object")
	c.store.err = fmt.Errorf("%w: unknown field \"x\"", storage.ErrInvalid)
	c.status(c.send(http.MethodDelete, objects+"?fieldSelector=x%3D1", ""), http.StatusBadRequest, `unknown field "x"`)
	if len(c.cluster.marks)+len(c.store.closed) != 0 {
		t.Errorf("deleted all the same: %v %v", c.cluster.marks, c.store.closed)
	}
}

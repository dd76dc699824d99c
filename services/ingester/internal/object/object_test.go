package object_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/object"
)

const whole = `{"apiVersion":"michelangelo.api/v2","kind":"Model", "metadata" : {"name":"churn","namespace":"default",
	"annotations":{"mark":"true","other":"x"},"labels":{"a":"b"},"uid":"u\u0031","resourceVersion":"7","generation":4,
	"deletionTimestamp":"2026-11-22T05:00:00Z","finalizers":["one","two"]},"spec": {"a":[1,2]},"status":null}`

func TestParseReadsDecidingFields(t *testing.T) {
	o, err := object.Parse([]byte(whole), "mark", "absent")
	if err != nil {
		t.Fatal(err)
	}
	at := metav1.NewTime(time.Date(2026, 11, 22, 5, 0, 0, 0, time.UTC))
	want := metav1.ObjectMeta{
		Name: "churn", Namespace: "default", UID: "u1", ResourceVersion: "7", Generation: 4, DeletionTimestamp: &at,
		Finalizers: []string{"one", "two"}, Annotations: map[string]string{"mark": "true"},
	}
	if diff := cmp.Diff(want, o.ObjectMeta); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if o.Kind != "Model" || o.APIVersion != "michelangelo.api/v2" || o.Unknown() != "" {
		t.Errorf("got %s of %s with %q", o.Kind, o.APIVersion, o.Unknown())
	}
	if string(o.Spec()) != `{"a":[1,2]}` || len(o.Status()) != 0 || !strings.HasSuffix(string(o.Metadata()), `"two"]}`) {
		t.Errorf("sections %s, %s, %s", o.Metadata(), o.Spec(), o.Status())
	}
	u, err := o.Unstructured()
	if err != nil || u.GetLabels()["a"] != "b" {
		t.Error(u, err)
	}
}

func TestParseIgnoresInvalidGeneration(t *testing.T) {
	for _, text := range []string{`null`, `"4"`, `4.5`, `1e99`, `{"a":[4]}`} {
		o, err := object.Parse([]byte(`{"metadata":{"generation":` + text + `,"name":"churn"}}`))
		if err != nil || o.Generation != 0 || o.Name != "churn" {
			t.Errorf("%s: %+v, %v", text, o, err)
		}
	}
}

func TestParseRejects(t *testing.T) {
	for _, text := range []string{
		``, `[]`, `{"kind":1}`, `{"kind":"Model"`, `{"kind":"Model"}{}`, `{"metadata":[]}`, `{"metadata":{"finalizers":{}}}`,
		`{"metadata":{"deletionTimestamp":"soon"}}`, `{"spec":}`,
	} {
		if o, err := object.Parse([]byte(text)); err == nil {
			t.Errorf("%s is parsed as %+v", text, o)
		}
	}
}

func TestDeepCopyIsIndependent(t *testing.T) {
	o, err := object.Parse([]byte(whole))
	if err != nil {
		t.Fatal(err)
	}
	c := o.DeepCopyObject().(*object.Object)
	c.Finalizers[0] = "changed"
	if o.Finalizers[0] != "one" || string(c.JSON) != whole {
		t.Error("the copy shares what may change, or lacks what is shared")
	}
}

func FuzzParse(f *testing.F) {
	f.Add(whole)
	f.Add(`{"metadata":{"annotations":null,"name":null},"extra":{}}`)
	f.Fuzz(func(t *testing.T, text string) {
		o, err := object.Parse([]byte(text), "mark")
		if err != nil {
			return
		}
		for _, section := range [][]byte{o.Metadata(), o.Spec(), o.Status()} {
			if len(section) > 0 && !json.Valid(section) {
				t.Errorf("a section is %q", section)
			}
		}
	})
}

var now = time.Unix(1000, 0)

// received are the writes that a server has received.
var received []string

// client returns a client of a server with a fixed response.
func client(t *testing.T, status int, answer string) *object.Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			t.Error(err)
		}
		if req.Method != http.MethodGet {
			received = append(received, req.Method+" "+req.URL.String()+" "+string(body))
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		if _, err := fmt.Fprint(w, answer); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	c, err := object.NewClient(&rest.Config{Host: server.URL}, server.Client(), clocktesting.NewFakeClock(now),
		schema.GroupVersionResource{Group: "michelangelo.api", Version: "v2", Resource: "models"}, "mark")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestList(t *testing.T) {
	c := client(t, http.StatusOK, `{"kind":"ModelList","items":[`+whole+`,`+whole+`],"metadata":{"resourceVersion":"9","continue":"next"}}`)
	list, err := c.List(t.Context(), "", metav1.ListOptions{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if list.ResourceVersion != "9" || list.Continue != "next" || len(list.Items) != 2 || list.Items[1].Annotations["mark"] != "true" || !list.Items[0].Received.IsZero() {
		t.Errorf("got %+v", list)
	}
}

func TestListFails(t *testing.T) {
	gone := client(t, http.StatusGone, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}`)
	if _, err := gone.List(t.Context(), "", metav1.ListOptions{}, nil); !apierrors.IsResourceExpired(err) {
		t.Errorf("got %v, want that the version is expired", err)
	}
	cut := client(t, http.StatusOK, `{"kind":"ModelList","items":[`+whole+`,`)
	if list, err := cut.List(t.Context(), "", metav1.ListOptions{}, nil); err == nil {
		t.Errorf("half a list is parsed as %+v", list)
	}
}

func TestWatch(t *testing.T) {
	c := client(t, http.StatusOK, `{"type":"ADDED","object":`+whole+`}
{"type":"BOOKMARK","object":{"kind":"Model","apiVersion":"michelangelo.api/v2","metadata":{"resourceVersion":"12"}}}
{"object":{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410},"type":"ERROR"}
`)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	w, err := c.Watch(ctx, "default", metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	added, mark, failed := <-w.ResultChan(), <-w.ResultChan(), <-w.ResultChan()
	o, ok := added.Object.(*object.Object)
	if added.Type != watch.Added || !ok || o.Name != "churn" || !o.Received.Equal(now) {
		t.Errorf("first came %+v", added)
	}
	if b, ok := mark.Object.(*object.Object); mark.Type != watch.Bookmark || !ok || b.ResourceVersion != "12" {
		t.Errorf("then came %+v", mark)
	}
	if failed.Type != watch.Error || !apierrors.IsResourceExpired(apierrors.FromObject(failed.Object)) {
		t.Errorf("last came %+v", failed)
	}
	if e, open := <-w.ResultChan(); open {
		t.Errorf("after the end came %+v", e)
	}
}

func TestPatchAndDeleteRequireVersion(t *testing.T) {
	o, err := object.Parse([]byte(whole))
	if err != nil {
		t.Fatal(err)
	}
	received = nil
	got, err := client(t, http.StatusOK, whole).PatchFinalizers(t.Context(), o, "test", []string{"one"})
	if err != nil || got.Name != "churn" {
		t.Error(got, err)
	}
	refusing := client(t, http.StatusConflict, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Conflict","code":409}`)
	if err := refusing.Delete(t.Context(), o, nil); !apierrors.IsConflict(err) {
		t.Errorf("got %v, want a conflict", err)
	}
	want := []string{
		`PATCH /apis/michelangelo.api/v2/namespaces/default/models/churn?fieldManager=test ` +
			`{"metadata":{"finalizers":["one"],"resourceVersion":"7","uid":"u1"}}`,
		`DELETE /apis/michelangelo.api/v2/namespaces/default/models/churn ` +
			`{"kind":"DeleteOptions","apiVersion":"v1","preconditions":{"uid":"u1","resourceVersion":"7"}}`,
	}
	if diff := cmp.Diff(want, received); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/flotilla-dev/flotilla/libs/kube/access"
	"github.com/flotilla-dev/flotilla/libs/kube/httpserver"

	"github.com/flotilla-dev/flotilla/services/ingester/api"
	"github.com/flotilla-dev/flotilla/services/ingester/docs"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/storage"
)

// document is docs/openapi.yaml, parsed once.
var document = sync.OnceValues(func() (*openapi3.T, error) {
	doc, err := openapi3.NewLoader().LoadFromData(docs.OpenAPI)
	if err != nil {
		return nil, err
	}
	return doc, doc.Validate(context.Background())
})

func openAPI(t testing.TB) (*openapi3.T, routers.Router) {
	t.Helper()
	doc, err := document()
	if err != nil {
		t.Fatal(err)
	}
	router, err := gorillamux.NewRouter(doc)
	if err != nil {
		t.Fatal(err)
	}
	return doc, router
}

// caller sends requests and validates every response against docs/openapi.yaml.
type caller struct {
	testing.TB
	do     func(*http.Request) (*http.Response, error)
	base   string
	token  string
	router routers.Router
}

// noRoutes describes nothing.
type noRoutes struct{}

func (noRoutes) FindRoute(*http.Request) (*routers.Route, map[string]string, error) {
	return nil, nil, routers.ErrPathNotFound
}

// answer is a response that has been read.
type answer struct {
	*http.Response
	body []byte
}

func (c *caller) send(method, path, body string, headers ...string) answer {
	c.Helper()
	r, err := http.NewRequestWithContext(c.Context(), method, c.base+path, strings.NewReader(body))
	if err != nil {
		c.Fatal(err)
	}
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	response, err := c.do(r)
	if err != nil {
		c.Fatal(err)
	}
	out := answer{Response: response}
	if out.body, err = io.ReadAll(response.Body); err != nil {
		c.Fatal(err)
	}
	if err := response.Body.Close(); err != nil {
		c.Fatal(err)
	}
	c.validate(r, body, out)
	return out
}

// validate validates a response against the document, and an accepted request too.
func (c *caller) validate(r *http.Request, body string, a answer) {
	c.Helper()
	if _, none := c.router.(noRoutes); none {
		return
	}
	described, params, err := c.router.FindRoute(r)
	if err != nil {
		if !slices.Contains([]int{http.StatusUnauthorized, http.StatusNotFound, http.StatusMethodNotAllowed}, a.StatusCode) {
			c.Errorf("%s %s is in no document, but got status %d", r.Method, r.URL, a.StatusCode)
		}
		return
	}
	r.Body = io.NopCloser(strings.NewReader(body))
	if body != "" && r.Header.Get("Content-Type") == "" {
		r.Header.Set("Content-Type", contentType)
	}
	in := &openapi3filter.RequestValidationInput{Request: r, PathParams: params, Route: described, Options: &openapi3filter.Options{
		AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, IncludeResponseStatus: true,
	}}
	if a.StatusCode < http.StatusBadRequest {
		if err := openapi3filter.ValidateRequest(c.Context(), in); err != nil {
			c.Errorf("%s %s got status %d, but the document rejects it: %v", r.Method, r.URL, a.StatusCode, err)
		}
	}
	out := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: in, Status: a.StatusCode, Header: a.Header, Options: in.Options,
		Body: io.NopCloser(bytes.NewReader(a.body)),
	}
	if err := openapi3filter.ValidateResponse(c.Context(), out); err != nil {
		c.Errorf("%s %s: the response %d does not match the document: %v\n%s", r.Method, r.URL, a.StatusCode, err, a.body)
	}
}

// into decodes a response with an expected code.
func (c *caller) into(a answer, code int, into any) {
	c.Helper()
	if a.StatusCode != code {
		c.Fatalf("%s %s: status is %d, want %d: %s", a.Request.Method, a.Request.URL, a.StatusCode, code, a.body)
	}
	if err := json.Unmarshal(a.body, into); err != nil {
		c.Fatal(err)
	}
}

// status decodes a response that is a Status, and checks code and a part of the message.
func (c *caller) status(a answer, code int, text string) metav1.Status {
	c.Helper()
	var s metav1.Status
	c.into(a, code, &s)
	if s.Kind != "Status" || int(s.Code) != code || !strings.Contains(s.Message, text) {
		c.Errorf("status %+v, want code %d and %q", s, code, text)
	}
	return s
}

// env is an API with fake stores.
type env struct {
	*caller
	cluster *fakeCluster
	store   *fakeStore
	metrics *prometheus.Registry
	log     *bytes.Buffer
	logMu   sync.Mutex
}

func newEnv(t testing.TB, change ...func(*Config)) *env {
	t.Helper()
	b := &env{cluster: &fakeCluster{}, store: &fakeStore{}, metrics: prometheus.NewRegistry(), log: &bytes.Buffer{}}
	log := funcr.NewJSON(func(line string) {
		b.logMu.Lock()
		defer b.logMu.Unlock()
		fmt.Fprintln(b.log, line)
	}, funcr.Options{Verbosity: 1})
	c := Config{
		Options:    Options{httpserver.Options{BindAddress: "127.0.0.1:0", MaxRequests: 10, RequestTimeout: time.Minute}},
		Authorizer: newAllowAllAuthorizer(t), Cluster: b.cluster, Store: b.store, Registerer: b.metrics, Log: log, Clock: clock.RealClock{},
	}
	for _, f := range change {
		f(&c)
	}
	handler, err := newHandler(c)
	if err != nil {
		t.Fatal(err)
	}
	_, router := openAPI(t)
	b.caller = &caller{TB: t, token: "secret-token", router: router, do: func(r *http.Request) (*http.Response, error) {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		response := w.Result()
		response.Request = r
		return response, nil
	}}
	return b
}

func (b *env) logged() string {
	b.logMu.Lock()
	defer b.logMu.Unlock()
	return b.log.String()
}

// newAllowAllAuthorizer allows the user ada everything.
func newAllowAllAuthorizer(t testing.TB) *access.Authorizer {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", contentType)
		if strings.HasSuffix(r.URL.Path, "tokenreviews") {
			fmt.Fprint(w, `{"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview","status":{"authenticated":true,"user":{"username":"ada"}}}`)
			return
		}
		fmt.Fprint(w, `{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","status":{"allowed":true}}`)
	}))
	t.Cleanup(server.Close)
	g, err := access.New(&rest.Config{Host: server.URL}, access.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// fakeCluster has one object, or an error. It simulates states that a real API server
// does not reach on demand; real_test.go uses the real one.
type fakeCluster struct {
	object *unstructured.Unstructured
	err    error
	mark   func(Mark) error
	marks  []Mark
	gets   int
}

func (f *fakeCluster) Get(_ context.Context, kind *registry.Kind, _, name string) (*unstructured.Unstructured, error) {
	f.gets++
	switch {
	case f.err != nil:
		return nil, f.err
	case f.object == nil || f.object.GetName() != name:
		return nil, apierrors.NewNotFound(schema.GroupResource{Group: api.Group, Resource: kind.Plural}, name)
	}
	return f.object.DeepCopy(), nil
}

func (f *fakeCluster) MarkDeleting(_ context.Context, _ *registry.Kind, mark Mark) error {
	f.marks = append(f.marks, mark)
	if f.mark != nil {
		return f.mark(mark)
	}
	return nil
}

// fakeStore records requests.
type fakeStore struct {
	object    *unstructured.Unstructured
	list      storage.ListResponse
	err       error
	request   listRequest
	namespace string
	closed    []string
	panics    bool
}

func (f *fakeStore) GetByName(_ context.Context, _, name string, object runtime.Object) error {
	if f.panics {
		var nilStore *fakeStore
		nilStore.closed = nil
	}
	switch {
	case f.err != nil:
		return f.err
	case f.object == nil || f.object.GetName() != name:
		return storage.ErrNotFound
	}
	f.object.DeepCopyInto(object.(*unstructured.Unstructured))
	return nil
}

func (f *fakeStore) List(_ context.Context, _ *metav1.TypeMeta, namespace string, o *metav1.ListOptions, ext *storage.ListOptionsExt, response *storage.ListResponse) error {
	f.namespace, f.request = namespace, listRequest{options: *o, ext: *ext}
	*response = f.list
	return f.err
}

func (f *fakeStore) DeleteCollection(_ context.Context, _ *metav1.TypeMeta, namespace string, _ *metav1.DeleteOptions, o *metav1.ListOptions) error {
	f.closed = append(f.closed, namespace+" "+o.FieldSelector)
	return f.err
}

// manyClusters is a fakeCluster with several objects, for concurrent use.
type manyClusters struct {
	*fakeCluster
	mu   sync.Mutex
	live map[string]*unstructured.Unstructured
}

func (m *manyClusters) Get(ctx context.Context, kind *registry.Kind, namespace, name string) (*unstructured.Unstructured, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.object = m.live[name]
	return m.fakeCluster.Get(ctx, kind, namespace, name)
}

func (m *manyClusters) MarkDeleting(ctx context.Context, kind *registry.Kind, mark Mark) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.fakeCluster.MarkDeleting(ctx, kind, mark)
}

// manyStored is a fakeStore with several objects, for concurrent use. The object named gone
// is listed, but does not exist.
type manyStored struct {
	*fakeStore
	mu     sync.Mutex
	stored []*unstructured.Unstructured
}

func (m *manyStored) GetByName(ctx context.Context, namespace, name string, object runtime.Object) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.object = nil
	for _, u := range m.stored {
		if u.GetName() == name && name != "gone" {
			m.object = u
		}
	}
	return m.fakeStore.GetByName(ctx, namespace, name, object)
}

func (m *manyStored) DeleteCollection(ctx context.Context, tm *metav1.TypeMeta, namespace string, d *metav1.DeleteOptions, o *metav1.ListOptions) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.fakeStore.DeleteCollection(ctx, tm, namespace, d, o)
}

const (
	objects = root + "/namespaces/default/models"
	churn   = objects + "/churn"
)

// model returns an object as both stores have it.
func model(version int64) *unstructured.Unstructured { return dbtest.Model("churn", "uid-1", version) }

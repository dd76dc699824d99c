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
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/flotilla-dev/flotilla/libs/kube/access"
	"github.com/flotilla-dev/flotilla/libs/kube/httpserver"

	"github.com/flotilla-dev/flotilla/services/ingester/docs"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
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

// tokenOf begins the token of a user other than ada.
const tokenOf = "token-of-"

// newAllowAllAuthorizer allows everything to all users.
func newAllowAllAuthorizer(t testing.TB) *access.Authorizer {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", contentType)
		if strings.HasSuffix(r.URL.Path, "tokenreviews") {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			var review authenticationv1.TokenReview
			if _, _, err := clientgoscheme.Codecs.UniversalDeserializer().Decode(body, nil, &review); err != nil {
				t.Error(err)
			}
			user, ok := strings.CutPrefix(review.Spec.Token, tokenOf)
			if !ok {
				user = "ada"
			}
			fmt.Fprintf(w, `{"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview","status":{"authenticated":true,"user":{"username":%q}}}`, user)
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

const (
	objects = root + "/namespaces/default/models"
	churn   = objects + "/churn"
)

// model returns an object as both stores have it.
func model(version int64) *unstructured.Unstructured { return dbtest.Model("churn", "uid-1", version) }

package httpapi

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/flotilla-dev/flotilla/libs/contract/statusapi"
	"github.com/flotilla-dev/flotilla/libs/kube/access"
	"github.com/flotilla-dev/flotilla/libs/kube/httpserver"
	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"

	"github.com/flotilla-dev/flotilla/services/status-aggregator/docs"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/readmodel/readmodeltest"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	os.Exit(cluster.Main(m, cluster.Options{CRDs: []string{"../../../superset-operator/config/crd", "../../../engine-operator/config/crd"}, Nodes: 1}))
}

// document is docs/openapi.yaml, parsed once.
var document = sync.OnceValues(func() (*openapi3.T, error) {
	doc, err := openapi3.NewLoader().LoadFromData(docs.OpenAPI)
	if err != nil {
		return nil, err
	}
	return doc, doc.Validate(context.Background())
})

// testEnv is the API with a real API server and a real bus.
type testEnv struct {
	*readmodeltest.Env
	base     string
	token    string
	router   routers.Router
	registry *prometheus.Registry
	client   *http.Client
	stop     func()
}

func newTestEnv(t *testing.T, change ...func(*testEnv, *Config)) *testEnv {
	t.Helper()
	as := asAggregator(t)
	b := &testEnv{Env: readmodeltest.New(t, as), registry: prometheus.NewRegistry()}
	authorizer, err := access.New(as, access.Options{TTL: time.Millisecond}) // new roles are effective at once
	if err != nil {
		t.Fatal(err)
	}
	config := Config{
		Options:    Options{MaxStreams: 10, Options: httpserver.Options{BindAddress: "127.0.0.1:0", MaxRequests: 10, RequestTimeout: time.Minute}},
		Authorizer: authorizer, View: b.View, Hub: b.Hub, Kinds: b.Kinds, Registerer: b.registry,
		Log: logr.Discard(), Clock: clock.RealClock{}, Heartbeat: 100 * time.Millisecond,
	}
	for _, f := range change {
		f(b, &config)
	}
	server, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Start(ctx) }()
	b.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(b.stop)
	address, err := server.Address(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	doc, err := document()
	if err != nil {
		t.Fatal(err)
	}
	if b.router, err = gorillamux.NewRouter(doc); err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	b.client = &http.Client{Transport: transport}
	t.Cleanup(transport.CloseIdleConnections)
	b.base = "http://" + address
	return b
}

const reader = "flotilla-status-api-reader"

// asAggregator returns credentials with exactly the permissions of config/rbac/role.yaml, and creates the role of callers.
func asAggregator(t *testing.T) *rest.Config {
	t.Helper()
	const user = "system:serviceaccount:flotilla-system:status-aggregator-api-test"
	c := cluster.Get(t).Client(t, nil)
	own, callers := roleOf(t, "../../config/rbac/role.yaml"), roleOf(t, "../../config/rbac/api_role.yaml")
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: own.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: own.Name},
		Subjects:   []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: user}},
	}
	for _, o := range []client.Object{own, callers, binding} {
		if err := client.IgnoreAlreadyExists(c.Create(t.Context(), o)); err != nil {
			t.Fatal(err)
		}
	}
	cfg := rest.CopyConfig(cluster.Get(t).Config)
	cfg.Impersonate = rest.ImpersonationConfig{UserName: user}
	return cfg
}

// roleOf reads the first document of a file.
func roleOf(t *testing.T, file string) *rbacv1.ClusterRole {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := bytes.Cut(raw, []byte("\n---\n"))
	role := &rbacv1.ClusterRole{}
	if err := yaml.UnmarshalStrict(first, role); err != nil {
		t.Fatal(err)
	}
	return role
}

func (b *testEnv) create(o client.Object) {
	b.Helper()
	if err := b.Client.Create(b.Context(), o); err != nil {
		b.Fatal(err)
	}
}

// login creates a ServiceAccount that may read in some namespaces, uses its token from now on,
// and waits until the roles are effective. It returns the bindings.
func (b *testEnv) login(name string, namespaces ...string) []client.Object {
	b.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: name}}
	b.create(account)
	out := []client.Object{account}
	for _, namespace := range namespaces {
		binding := &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name + "-" + b.Namespace},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: reader},
			Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: b.Namespace, Name: name}},
		}
		b.create(binding)
		out = append(out, binding)
	}
	request := &authenticationv1.TokenRequest{}
	if err := b.Client.SubResource("token").Create(b.Context(), account, request); err != nil {
		b.Fatal(err)
	}
	b.token = request.Status.Token
	for _, namespace := range namespaces {
		expect.Eventually(b, expect.Long, func() error {
			if a := b.get(statusapi.PathResources + "?namespace=" + namespace); a.StatusCode != http.StatusOK {
				return fmt.Errorf("%d: %s", a.StatusCode, a.body)
			}
			return nil
		})
	}
	return out
}

// response is a response that has been read.
type response struct {
	*http.Response
	body []byte
}

func (b *testEnv) request(method, path string, headers ...string) *http.Request {
	b.Helper()
	r, err := http.NewRequestWithContext(b.Context(), method, b.base+path, nil)
	if err != nil {
		b.Fatal(err)
	}
	if b.token != "" {
		r.Header.Set("Authorization", "Bearer "+b.token)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return r
}

func (b *testEnv) get(path string, headers ...string) response {
	b.Helper()
	return b.send(http.MethodGet, path, headers...)
}

// send sends a request and validates the response against docs/openapi.yaml.
func (b *testEnv) send(method, path string, headers ...string) response {
	b.Helper()
	r := b.request(method, path, headers...)
	res, err := b.client.Do(r)
	if err != nil {
		b.Fatal(err)
	}
	defer res.Body.Close()
	out := response{Response: res}
	if out.body, err = io.ReadAll(res.Body); err != nil {
		b.Fatal(err)
	}
	b.validate(r, out)
	return out
}

func (b *testEnv) validate(r *http.Request, a response) {
	b.Helper()
	described, params, err := b.router.FindRoute(r)
	if err != nil {
		var e statusapi.Error
		if a.StatusCode < http.StatusBadRequest || json.Unmarshal(a.body, &e) != nil || e.Code == "" || e.Message == "" {
			b.Errorf("%s %s is in no document, but is answered by %d: %s", r.Method, r.URL, a.StatusCode, a.body)
		}
		return
	}
	in := &openapi3filter.RequestValidationInput{Request: r, PathParams: params, Route: described, Options: &openapi3filter.Options{
		AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, IncludeResponseStatus: true,
	}}
	if a.StatusCode < http.StatusBadRequest {
		if err := openapi3filter.ValidateRequest(b.Context(), in); err != nil {
			b.Errorf("%s %s was answered by %d, but the document refuses it: %v", r.Method, r.URL, a.StatusCode, err)
		}
	}
	out := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: in, Status: a.StatusCode, Header: a.Header, Options: in.Options, Body: io.NopCloser(bytes.NewReader(a.body)),
	}
	if err := openapi3filter.ValidateResponse(b.Context(), out); err != nil {
		b.Errorf("%s %s: the answer %d does not fit the document: %v\n%s", r.Method, r.URL, a.StatusCode, err, a.body)
	}
}

// decode decodes a successful response, strictly.
func decode[T any](b *testEnv, a response) T {
	b.Helper()
	var out T
	if a.StatusCode != http.StatusOK {
		b.Fatalf("the answer is %d: %s", a.StatusCode, a.body)
	}
	decoder := json.NewDecoder(bytes.NewReader(a.body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&out); err != nil {
		b.Fatal(err)
	}
	return out
}

// wantError checks an error response.
func (b *testEnv) wantError(a response, status int, code, text string) {
	b.Helper()
	var e statusapi.Error
	if err := json.Unmarshal(a.body, &e); err != nil || a.StatusCode != status || e.Code != code || !strings.Contains(e.Message, text) {
		b.Errorf("%s: the answer is %d %s, want %d %s with %q", a.Request.URL, a.StatusCode, a.body, status, code, text)
	}
}

// feed is an open stream of events.
type feed struct {
	*testEnv
	*http.Response
	lines *bufio.Scanner
	close func()
}

// block is an event or a heartbeat.
type block struct{ id, data, comment, retry string }

// follow opens a stream.
func (b *testEnv) follow(path string, headers ...string) *feed {
	b.Helper()
	r := b.request(http.MethodGet, statusapi.PathEvents+path, headers...)
	ctx, cancel := context.WithCancel(b.Context())
	response, err := b.client.Do(r.WithContext(ctx))
	if err != nil {
		b.Fatal(err)
	}
	f := &feed{testEnv: b, Response: response, lines: bufio.NewScanner(response.Body)}
	f.close = sync.OnceFunc(func() {
		cancel()
		response.Body.Close()
	})
	b.Cleanup(f.close)
	if response.StatusCode != http.StatusOK {
		body, err := io.ReadAll(response.Body)
		if err != nil {
			b.Fatal(err)
		}
		b.Fatalf("the stream is %d: %s", response.StatusCode, body)
	}
	return f
}

// next reads one block; false at the end of the stream.
func (f *feed) next() (block, bool) {
	var out block
	for f.lines.Scan() {
		line := f.lines.Text()
		if line == "" {
			return out, true
		}
		name, value, _ := strings.Cut(line, ": ")
		switch name {
		case "id":
			out.id = value
		case "data":
			out.data = value
		case "retry":
			out.retry = value
		case "":
			out.comment = value
		}
	}
	return out, false
}

// event reads until the next event; false at the end of the stream.
func (f *feed) event() (block, bool) {
	for {
		b, ok := f.next()
		if !ok || b.data != "" {
			return b, ok
		}
	}
}

// nextHeartbeat reads until the next heartbeat.
func (f *feed) nextHeartbeat() block {
	f.Helper()
	for {
		b, ok := f.next()
		if !ok {
			f.Fatal("the stream ended")
		}
		if b.comment != "" {
			return b
		}
	}
}

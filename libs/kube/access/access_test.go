package access_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/kube/access"
	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/freeport"
)

// env is a namespace of a real API server with a service account that reads its ConfigMaps.
type env struct {
	*testing.T
	client    client.Client
	namespace string
	reviews   atomic.Int64 // reviews that the authorizer has sent to the API server
}

func newEnv(t *testing.T) *env {
	t.Helper()
	c := cluster.Get(t)
	return &env{T: t, client: c.Client(t, clientgoscheme.Scheme), namespace: c.Namespace(t)}
}

func (l *env) authorizer(o access.Options) *access.Authorizer {
	l.Helper()
	cfg := rest.CopyConfig(cluster.Get(l).Config)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			l.reviews.Add(1)
			return next.RoundTrip(r)
		})
	})
	authorizer, err := access.New(cfg, o)
	if err != nil {
		l.Fatal(err)
	}
	return authorizer
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (l *env) create(objects ...client.Object) {
	l.Helper()
	for _, o := range objects {
		if err := l.client.Create(l.Context(), o); err != nil {
			l.Fatal(err)
		}
	}
}

// account creates a ServiceAccount and returns a token of it.
func (l *env) account(name string, audiences ...string) string {
	l.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: name}}
	l.create(account)
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: audiences}}
	if err := l.client.SubResource("token").Create(l.Context(), account, request); err != nil {
		l.Fatal(err)
	}
	return request.Status.Token
}

// grant lets an account get ConfigMaps of the namespace.
func (l *env) grant(account string) *rbacv1.RoleBinding {
	l.Helper()
	role := &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: account},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get"}}},
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: account},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: account},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: l.namespace, Name: account}},
	}
	l.create(role, binding)
	return binding
}

// getConfigMap returns the request that grant permits.
func (l *env) getConfigMap(namespace string) access.Attributes {
	return access.Attributes{Verb: "get", Version: "v1", Resource: "configmaps", Namespace: namespace, Name: "settings"}
}

// request sends a request through the authorizer and returns the response.
func request(authorizer *access.Authorizer, authorization string, a access.Attributes) *httptest.ResponseRecorder {
	inner := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		u, ok := access.UserFrom(r.Context())
		fmt.Fprintf(w, "%v %v %q", ok, u.GetName(), r.Header.Values("Authorization"))
	})
	r := httptest.NewRequestWithContext(context.Background(), http.MethodGet, "/", nil)
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	w := httptest.NewRecorder()
	authorizer.Authenticated(authorizer.Authorized(a, inner)).ServeHTTP(w, r)
	return w
}

// status reads the response to a rejected request.
func (l *env) status(response *httptest.ResponseRecorder, code int) metav1.Status {
	l.Helper()
	if response.Code != code {
		l.Fatalf("status is %d, want %d", response.Code, code)
	}
	var s metav1.Status
	if err := json.NewDecoder(response.Body).Decode(&s); err != nil {
		l.Fatal(err)
	}
	if s.Kind != "Status" || s.APIVersion != "v1" || s.Status != metav1.StatusFailure || int(s.Code) != code {
		l.Errorf("the body is not a Status of code %d: %+v", code, s)
	}
	return s
}

func TestAuthorizerRejectsInvalidToken(t *testing.T) {
	l := newEnv(t)
	authorizer := l.authorizer(access.Options{})
	token := l.account("reader")
	l.grant("reader")
	allowed := l.getConfigMap(l.namespace)
	foreign := l.account("elsewhere", "https://elsewhere.example")
	for name, header := range map[string]string{
		"no header":                     "",
		"another scheme":                "Basic YTpi",
		"no token":                      "Bearer ",
		"nonsense":                      "Bearer nonsense",
		"a token with a broken ending":  "Bearer " + token[:len(token)-8] + "AAAAAAAA",
		"a token for another audience":  "Bearer " + foreign,
		"a token in front of something": "Bearer x " + token,
	} {
		t.Run(name, func(t *testing.T) {
			response := request(authorizer, header, allowed)
			s := (&env{T: t}).status(response, http.StatusUnauthorized)
			if s.Reason != metav1.StatusReasonUnauthorized || response.Header().Get("WWW-Authenticate") == "" {
				t.Errorf("reason %q, headers %v", s.Reason, response.Header())
			}
			if strings.Contains(s.Message, "nonsense") || strings.Contains(s.Message, token) {
				t.Errorf("the response repeats the token: %s", s.Message)
			}
		})
	}
	expect.Eventually(t, expect.Long, func() error { // a new role applies after a moment
		return l.wantCode(access.Options{}, "Bearer "+token, allowed, http.StatusOK)
	})
	body := request(l.authorizer(access.Options{}), "bearer "+token, allowed).Body
	want := fmt.Sprintf("true system:serviceaccount:%s:reader []", l.namespace)
	if !strings.HasSuffix(body.String(), want) {
		t.Errorf("the handler saw %q, want %q at the end", body.String(), want)
	}
}

// wantCode sends a request through a new authorizer with an empty cache.
func (l *env) wantCode(o access.Options, header string, a access.Attributes, code int) error {
	l.Helper()
	response := request(l.authorizer(o), header, a)
	if response.Code != code {
		return fmt.Errorf("status is %d, want %d", response.Code, code)
	}
	return nil
}

func TestAuthorizerChecksAudiences(t *testing.T) {
	l := newEnv(t)
	expected, unexpected := l.account("ours", "flotilla", "other"), l.account("theirs")
	l.grant("ours")
	o := access.Options{Audiences: []string{"flotilla"}}
	expect.Eventually(t, expect.Long, func() error {
		return l.wantCode(o, "Bearer "+expected, l.getConfigMap(l.namespace), http.StatusOK)
	})
	if err := l.wantCode(o, "Bearer "+unexpected, l.getConfigMap(l.namespace), http.StatusUnauthorized); err != nil {
		t.Error(err)
	}
}

// An API server, or an authenticator behind it, without support for audiences omits them
// from its response. Such a response does not prove the audience.
func TestAuthorizerRejectsReviewWithoutAudiences(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview","status":{"authenticated":true,"user":{"username":"ada"}}}`)
	}))
	t.Cleanup(server.Close)
	for _, tc := range []struct {
		audiences []string
		code      int
	}{{nil, http.StatusOK}, {[]string{"flotilla"}, http.StatusUnauthorized}} {
		authorizer, err := access.New(&rest.Config{Host: server.URL}, access.Options{Audiences: tc.audiences})
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.Header.Set("Authorization", "Bearer token")
		w := httptest.NewRecorder()
		authorizer.Authenticated(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(w, r)
		if w.Code != tc.code {
			t.Errorf("status is %d for audiences %v, want %d", w.Code, tc.audiences, tc.code)
		}
	}
}

func TestAuthorizerNamesMissingPermission(t *testing.T) {
	l := newEnv(t)
	token := l.account("reader")
	l.grant("reader")
	expect.Eventually(t, expect.Long, func() error {
		return l.wantCode(access.Options{}, "Bearer "+token, l.getConfigMap(l.namespace), http.StatusOK)
	})
	authorizer := l.authorizer(access.Options{})
	deletes := l.getConfigMap(l.namespace)
	deletes.Verb = "delete"
	lists := l.getConfigMap("")
	lists.Verb, lists.Name = "list", ""
	for name, tc := range map[string]struct {
		attributes access.Attributes
		want       []string
	}{
		"another verb":      {deletes, []string{"cannot delete", `"configmaps"`, `"` + l.namespace + `"`}},
		"another namespace": {l.getConfigMap("kube-system"), []string{"cannot get", `"configmaps"`, `"kube-system"`}},
		"all namespaces":    {lists, []string{"cannot list", `"configmaps"`, "at the cluster scope"}},
		"a path":            {access.Attributes{Verb: "get", Path: "/metrics"}, []string{`cannot get path "/metrics"`}},
	} {
		t.Run(name, func(t *testing.T) {
			s := (&env{T: t}).status(request(authorizer, "Bearer "+token, tc.attributes), http.StatusForbidden)
			for _, want := range append(tc.want, l.namespace+":reader") {
				if !strings.Contains(s.Message, want) {
					t.Errorf("%q is missing in %q", want, s.Message)
				}
			}
			if s.Reason != metav1.StatusReasonForbidden {
				t.Errorf("reason %q", s.Reason)
			}
		})
	}
}

func TestAuthorizerCacheExpires(t *testing.T) {
	l := newEnv(t)
	token := l.account("reader")
	binding := l.grant("reader")
	allowed := l.getConfigMap(l.namespace)
	expect.Eventually(t, expect.Long, func() error {
		return l.wantCode(access.Options{}, "Bearer "+token, allowed, http.StatusOK)
	})
	long := l.authorizer(access.Options{TTL: time.Hour})
	short := l.authorizer(access.Options{TTL: 50 * time.Millisecond})
	l.reviews.Store(0)
	denied := l.getConfigMap("kube-system")
	for range 20 {
		request(long, "Bearer "+token, allowed)
		request(long, "Bearer "+token, denied)
		request(long, "Bearer nonsense", allowed)
	}
	if n := l.reviews.Load(); n != 4 { // a valid token, two permissions, an invalid token
		t.Errorf("sixty requests cost %d questions, want 4", n)
	}
	if err := l.client.Delete(t.Context(), binding); err != nil {
		t.Fatal(err)
	}
	expect.Eventually(t, expect.Long, func() error {
		if code := request(short, "Bearer "+token, allowed).Code; code != http.StatusForbidden {
			return fmt.Errorf("status is %d after the permission was removed", code)
		}
		return nil
	})
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: "reader"}}
	if err := l.client.Delete(t.Context(), account); err != nil {
		t.Fatal(err)
	}
	expect.Eventually(t, expect.Long, func() error {
		if code := request(short, "Bearer "+token, allowed).Code; code != http.StatusUnauthorized {
			return fmt.Errorf("status is %d after the account was deleted", code)
		}
		return nil
	})
}

func TestAuthorizerDeniesWithoutAPIServer(t *testing.T) {
	l := newEnv(t)
	token := l.account("reader")
	l.grant("reader")
	allowed := l.getConfigMap(l.namespace)
	expect.Eventually(t, expect.Long, func() error {
		return l.wantCode(access.Options{}, "Bearer "+token, allowed, http.StatusOK)
	})
	var unreachable atomic.Bool
	port, err := freeport.One()
	if err != nil {
		t.Fatal(err)
	}
	cfg := rest.CopyConfig(cluster.Get(t).Config)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if unreachable.Load() {
				r.URL.Host = fmt.Sprint("127.0.0.1:", port) // a closed port
			}
			return next.RoundTrip(r)
		})
	})
	authorizer, err := access.New(cfg, access.Options{TTL: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	wantUnavailable := func(verb string, a access.Attributes) {
		t.Helper()
		response := request(authorizer, "Bearer "+token, a)
		s := l.status(response, http.StatusServiceUnavailable)
		if response.Header().Get("Retry-After") == "" || s.Details == nil || s.Details.RetryAfterSeconds == 0 || !strings.Contains(s.Message, verb) {
			t.Errorf("headers %v, status %+v, want %q", response.Header(), s, verb)
		}
	}
	unreachable.Store(true)
	wantUnavailable("authenticate", allowed)
	unreachable.Store(false)
	if code := request(authorizer, "Bearer "+token, allowed).Code; code != http.StatusOK {
		t.Fatalf("status is %d, want no cached outage", code)
	}
	unreachable.Store(true)
	if code := request(authorizer, "Bearer "+token, allowed).Code; code != http.StatusOK {
		t.Errorf("status is %d for a cached review", code)
	}
	other := allowed
	other.Name = "unasked"
	wantUnavailable("authorize", other)
}

func TestAuthorizerRequiresAuthentication(t *testing.T) {
	l := newEnv(t)
	w := httptest.NewRecorder()
	l.authorizer(access.Options{}).Authorized(l.getConfigMap(l.namespace), http.NotFoundHandler()).
		ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
	l.status(w, http.StatusUnauthorized)
}

func TestWriteErrorHidesInternalErrors(t *testing.T) {
	w := httptest.NewRecorder()
	access.WriteError(w, fmt.Errorf("dial db: password hunter2"))
	s := (&env{T: t}).status(w, http.StatusInternalServerError)
	if strings.Contains(s.Message, "hunter2") || s.Reason != metav1.StatusReasonInternalError {
		t.Errorf("the caller gets %+v", s)
	}
}

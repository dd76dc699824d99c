package access_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/flotilla-dev/flotilla/libs/kube/access"
	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/freeport"
)

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

// A retry cannot succeed before the service has the permission, so the response suggests none.
func TestAuthorizerReportsMissingPermissionOfService(t *testing.T) {
	l := newEnv(t)
	token := l.account("reader")
	for _, tc := range []struct{ resource, verb string }{
		{"tokenreviews.authentication.k8s.io", "authenticate"}, {"subjectaccessreviews.authorization.k8s.io", "authorize"},
	} {
		t.Run(tc.resource, func(t *testing.T) {
			unprivileged := rest.AnonymousClientConfig(cluster.Get(t).Config)
			unprivileged.BearerToken = token
			transport, err := rest.TransportFor(unprivileged)
			if err != nil {
				t.Fatal(err)
			}
			cfg := rest.CopyConfig(cluster.Get(t).Config)
			plural, _, _ := strings.Cut(tc.resource, ".")
			cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
				return roundTripper(func(r *http.Request) (*http.Response, error) {
					if strings.HasSuffix(r.URL.Path, "/"+plural) {
						return transport.RoundTrip(r)
					}
					return next.RoundTrip(r)
				})
			})
			authorizer, err := access.New(cfg, access.Options{})
			if err != nil {
				t.Fatal(err)
			}
			response := request(authorizer, "Bearer "+token, l.getConfigMap(l.namespace))
			s := (&env{T: t}).status(response, http.StatusInternalServerError)
			want := "cannot " + tc.verb + " the request: the service may not create " + tc.resource + "; grant it"
			if !strings.Contains(s.Message, want) || response.Header().Get("Retry-After") != "" {
				t.Errorf("headers %v, status %+v, want %q", response.Header(), s, want)
			}
		})
	}
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

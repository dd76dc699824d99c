package access_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/kube/access"
	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
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

// wantCode sends a request through a new authorizer with an empty cache.
func (l *env) wantCode(o access.Options, header string, a access.Attributes, code int) error {
	l.Helper()
	response := request(l.authorizer(o), header, a)
	if response.Code != code {
		return fmt.Errorf("status is %d, want %d", response.Code, code)
	}
	return nil
}

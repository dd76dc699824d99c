package apiclient

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
)

// tokenLifetime is the requested lifetime; a token is renewed when a quarter of it is left.
const tokenLifetime = time.Hour

// credentials wraps a transport so that each request carries a token.
func credentials(config *rest.Config, kube kubernetes.Interface, o Options, next http.RoundTripper) (http.RoundTripper, error) {
	if o.ServiceAccount != "" {
		namespace, name, found := strings.Cut(o.ServiceAccount, "/")
		if !found {
			namespace, name = o.DefaultNamespace, o.ServiceAccount
		}
		return &accountToken{kube: kube, clock: o.Clock, audience: o.Audience, namespace: namespace, name: name, next: next}, nil
	}
	if config.Impersonate.UserName != "" {
		return nil, fmt.Errorf("%w: --as ends at the API server; name a ServiceAccount with --service-account, whose token is then requested as %s",
			ErrNoToken, config.Impersonate.UserName)
	}
	own := rest.CopyConfig(config)
	own.Username, own.Password, own.UserAgent = "", "", "" // the API accepts only tokens and must not receive a password
	wrapped, err := rest.HTTPWrappersForConfig(own, requireToken{next})
	if err != nil {
		return nil, fmt.Errorf("prepare the credentials of the kubeconfig: %w", err)
	}
	return wrapped, nil
}

// requireToken rejects a request without a token: the response of the API, 401, would not explain the cause.
type requireToken struct{ next http.RoundTripper }

func (d requireToken) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.HasPrefix(r.Header.Get("Authorization"), "Bearer ") {
		return nil, fmt.Errorf("%w: the kubeconfig has none for this context; a client certificate or a password ends at the API server. "+
			"Name a ServiceAccount that may read the resources with --service-account [NAMESPACE/]NAME; its token is then requested as you "+
			"(requires permission to create serviceaccounts/token)", ErrNoToken)
	}
	return d.next.RoundTrip(r)
}

// accountToken adds the token of a ServiceAccount and renews it in time.
type accountToken struct {
	kube            kubernetes.Interface
	clock           clock.PassiveClock
	namespace, name string
	audience        string
	next            http.RoundTripper

	mu      sync.Mutex
	token   string
	renewAt time.Time
}

// RoundTrip implements http.RoundTripper.
func (a *accountToken) RoundTrip(r *http.Request) (*http.Response, error) {
	token, err := a.current(r.Context())
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+token)
	return a.next.RoundTrip(r)
}

func (a *accountToken) current(ctx context.Context) (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.clock.Now()
	if a.token != "" && now.Before(a.renewAt) {
		return a.token, nil
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(tokenLifetime.Seconds()))}}
	if a.audience != "" {
		request.Spec.Audiences = []string{a.audience}
	}
	response, err := a.kube.CoreV1().ServiceAccounts(a.namespace).CreateToken(ctx, a.name, request, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("%w: create a token of ServiceAccount %s/%s: %w", ErrNoToken, a.namespace, a.name, err)
	}
	a.token = response.Status.Token
	a.renewAt = now.Add(response.Status.ExpirationTimestamp.Sub(now) * 3 / 4)
	return a.token, nil
}

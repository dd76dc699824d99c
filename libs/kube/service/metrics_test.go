package service

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
)

func TestSecureMetricsAuthorizeRequests(t *testing.T) {
	p := newEnv(t)
	s := start(t, "mark", nil, append(p.args(), "--metrics-secure=true")...)
	s.scrapes("", http.StatusUnauthorized)
	s.scrapes(p.token("scraper"), http.StatusForbidden)
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: p.ns}, Rules: []rbacv1.PolicyRule{{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}},
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: p.ns}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: p.ns},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: p.ns, Name: "reader"}},
	}
	for _, obj := range []client.Object{role, binding} {
		if err := p.c.Create(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
	}
	s.scrapes(p.token("reader"), http.StatusOK)
}

// token returns a token of a new service account.
func (p env) token(name string) string {
	p.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: p.ns, Name: name}}
	if err := p.c.Create(p.Context(), account); err != nil {
		p.Fatal(err)
	}
	request := &authenticationv1.TokenRequest{}
	if err := p.c.SubResource("token").Create(p.Context(), account, request); err != nil {
		p.Fatal(err)
	}
	return request.Status.Token
}

// scrapes waits for a status: the certificate and a new role take effect with a delay.
func (s *started) scrapes(token string, status int) {
	s.Helper()
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	expect.Eventually(s, waitTimeout, func() error {
		req, err := http.NewRequestWithContext(s.Context(), http.MethodGet, "https://"+s.metrics+"/metrics", http.NoBody)
		if err != nil {
			return err
		}
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		resp, err := transport.RoundTrip(req)
		if err != nil {
			return err
		}
		if resp.StatusCode != status {
			err = fmt.Errorf("status is %d, want %d", resp.StatusCode, status)
		}
		return errors.Join(err, resp.Body.Close())
	})
}

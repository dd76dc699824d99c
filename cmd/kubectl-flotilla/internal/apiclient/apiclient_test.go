package apiclient

import (
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/flotilla-dev/flotilla/cmd/kubectl-flotilla/internal/statustest"
)

func TestAddress(t *testing.T) {
	for text, valid := range map[string]bool{
		"https://status.example.org": true, "https://status.example.org:8443/base": true,
		"http://localhost:8080": true, "http://127.0.0.1:8080": true, "http://[::1]:8080": true,
		"http://status.example.org": false, "status.example.org": false, "ftp://localhost": false, "https://": false, "://": false,
	} {
		if _, err := address(text); (err == nil) != valid || err != nil && !errors.Is(err, ErrAddress) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func get(t *testing.T, api *API, path string) (int, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, api.Base.JoinPath(path).String(), http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := api.Transport.RoundTrip(r)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	return response.StatusCode, err
}

func TestOpenSendsKubeconfigToken(t *testing.T) {
	s := statustest.Start(t)
	file := filepath.Join(t.TempDir(), "token")
	plugin := filepath.Join(t.TempDir(), "plugin")
	script := fmt.Sprintf("#!/bin/sh\necho '{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\",\"status\":{\"token\":\"%s\"}}'\n", statustest.Token)
	if err := errors.Join(os.WriteFile(file, []byte(statustest.Token), 0o600), os.WriteFile(plugin, []byte(script), 0o700)); err != nil {
		t.Fatal(err)
	}
	for name, config := range map[string]*rest.Config{
		"a token":        {Host: "https://127.0.0.1:1", BearerToken: statustest.Token},
		"a file":         {Host: "https://127.0.0.1:1", BearerTokenFile: file},
		"an exec plugin": {Host: "https://127.0.0.1:1", ExecProvider: &clientcmdapi.ExecConfig{APIVersion: "client.authentication.k8s.io/v1", Command: plugin, InteractiveMode: clientcmdapi.NeverExecInteractiveMode}},
	} {
		t.Run(name, func(t *testing.T) {
			api, err := Open(t.Context(), config, Options{URL: s.URL})
			if err != nil {
				t.Fatal(err)
			}
			if status, err := get(t, api, "/api/v1/resources"); err != nil || status != http.StatusOK {
				t.Errorf("got %d, %v", status, err)
			}
		})
	}
}

func TestOpenWithoutTokenNamesRemedy(t *testing.T) {
	s := statustest.Start(t)
	for name, config := range map[string]*rest.Config{
		"a client certificate": {Host: "https://127.0.0.1:1"},
		"a password":           {Host: "https://127.0.0.1:1", Username: "u", Password: "p"},
	} {
		t.Run(name, func(t *testing.T) {
			api, err := Open(t.Context(), config, Options{URL: s.URL})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := get(t, api, "/api/v1/resources"); !errors.Is(err, ErrNoToken) || !strings.Contains(err.Error(), "--service-account") {
				t.Errorf("got %v", err)
			}
		})
	}
	_, err := Open(t.Context(), &rest.Config{BearerToken: "t", Impersonate: rest.ImpersonationConfig{UserName: "jane"}}, Options{URL: s.URL})
	if !errors.Is(err, ErrNoToken) || !strings.Contains(err.Error(), "as jane") {
		t.Errorf("got %v", err)
	}
	if requests := s.Requests(); len(requests) != 0 {
		t.Errorf("%d requests were sent without a token", len(requests))
	}
}

func TestServiceAccountTokenIsRenewed(t *testing.T) {
	s := statustest.Start(t)
	now := clocktesting.NewFakeClock(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	kube := fake.NewClientset()
	var requests []string
	kube.PrependReactor("create", "serviceaccounts", func(a clienttesting.Action) (bool, runtime.Object, error) {
		create := a.(clienttesting.CreateActionImpl)
		requests = append(requests, a.GetNamespace()+"/"+create.Name)
		if got := create.Object.(*authenticationv1.TokenRequest).Spec.Audiences; len(got) != 1 || got[0] != "flotilla" {
			t.Errorf("the audiences are %q", got)
		}
		return true, &authenticationv1.TokenRequest{Status: authenticationv1.TokenRequestStatus{
			Token: statustest.Token, ExpirationTimestamp: metav1.NewTime(now.Now().Add(time.Hour)),
		}}, nil
	})
	base, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	transport, err := credentials(&rest.Config{}, kube, Options{ServiceAccount: "viewer", Audience: "flotilla", DefaultNamespace: "team-a", Clock: now}, http.DefaultTransport)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		elapsed  time.Duration
		requests int
	}{{0, 1}, {44 * time.Minute, 1}, {2 * time.Minute, 2}, {time.Minute, 2}, {2 * time.Hour, 3}} {
		now.Step(step.elapsed)
		if status, err := get(t, &API{base, transport}, "/api/v1/resources"); err != nil || status != http.StatusOK {
			t.Fatalf("got %d, %v", status, err)
		}
		if len(requests) != step.requests || requests[0] != "team-a/viewer" {
			t.Errorf("after %s more, tokens were requested for %q, want %d", step.elapsed, requests, step.requests)
		}
	}
}

func TestOpenVerifiesAPICertificates(t *testing.T) {
	s := httptest.NewTLSServer(statustest.New().Handler())
	defer s.Close()
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	config := &rest.Config{BearerToken: statustest.Token}
	trusted, err := Open(t.Context(), config, Options{URL: s.URL, CAFile: file})
	if err != nil {
		t.Fatal(err)
	}
	if status, err := get(t, trusted, "/api/v1/resources"); err != nil || status != http.StatusOK {
		t.Errorf("got %d, %v", status, err)
	}
	unknown, err := Open(t.Context(), config, Options{URL: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := get(t, unknown, "/api/v1/resources"); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("an unknown certificate was trusted: %v", err)
	}
	if _, err := Open(t.Context(), config, Options{URL: s.URL, CAFile: os.DevNull}); !errors.Is(err, ErrAddress) {
		t.Errorf("got %v", err)
	}
}

// service returns the aggregator's Service.
func service(change func(*corev1.ServicePort)) *corev1.Service {
	port := corev1.ServicePort{Name: "api", Port: 8446, TargetPort: intstr.FromString("http")}
	if change != nil {
		change(&port)
	}
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "flotilla-system", Name: Service},
		Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": "agg"}, Ports: []corev1.ServicePort{{Name: "metrics", Port: 9}, port}},
	}
}

func pod(name, app string, isReady bool) *corev1.Pod {
	status := corev1.ConditionFalse
	if isReady {
		status = corev1.ConditionTrue
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "flotilla-system", Name: name, Labels: map[string]string{"app": app}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8443}}}}},
		Status:     corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: status}}},
	}
}

func TestLocateReturnsReadyPod(t *testing.T) {
	terminating := pod("a-leaving", "agg", true)
	terminating.DeletionTimestamp, terminating.Finalizers = new(metav1.Now()), []string{"x/y"}
	all := []runtime.Object{pod("a-other", "other", true), terminating, pod("b-unready", "agg", false), pod("d", "agg", true), pod("c", "agg", true)}
	for name, tc := range map[string]struct {
		objects []runtime.Object
		want    target
		message string
	}{
		"by the name of the port": {append(all, service(nil)), target{"c", 8443, "8446"}, ""},
		"by the number of the port": {
			append(all, service(func(p *corev1.ServicePort) { p.TargetPort = intstr.FromInt32(7000) })),
			target{"c", 7000, "8446"},
			"",
		},
		"plain http": {
			append(all, service(func(p *corev1.ServicePort) { p.AppProtocol = new("http") })),
			target{},
			"uses plain HTTP, which does not authenticate the receiver of your token",
		},
		"no Service":   {all, target{}, `no Service status-aggregator in namespace "flotilla-system"`},
		"no port":      {append(all, service(func(p *corev1.ServicePort) { p.Name = "web" })), target{}, `has no port named "api"`},
		"no ready pod": {[]runtime.Object{service(nil), pod("b-unready", "agg", false)}, target{}, "is ready, of 1"},
	} {
		t.Run(name, func(t *testing.T) {
			tunnel := &tunnel{kube: fake.NewClientset(tc.objects...), namespace: "flotilla-system"}
			got, err := tunnel.locate(t.Context())
			if got != tc.want || (tc.message == "") != (err == nil) || err != nil && (!errors.Is(err, ErrNotFound) && !errors.Is(err, ErrAddress) || !strings.Contains(err.Error(), tc.message)) {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}

var _ net.Conn = (*conn)(nil)

// Package apitest holds the helpers of the tests of libs/kube: a client that counts its
// requests to the real API server, and owners for children.
package apitest

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
)

// Client is an uncached client that counts writes and reads.
type Client struct {
	client.Client
	requests *atomic.Int64
}

// New returns a client of the test binary's control plane. extra registers kinds in addition to the built-in ones.
func New(t testing.TB, extra ...func(*runtime.Scheme) error) *Client {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range append(extra, clientgoscheme.AddToScheme) {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	counter := &atomic.Int64{}
	cfg := rest.CopyConfig(cluster.Get(t).Config)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.URL.Path != "/api" && r.URL.Path != "/apis" {
				counter.Add(1)
			}
			return next.RoundTrip(r)
		})
	})
	c, err := client.New(cfg, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return &Client{Client: c, requests: counter}
}

// Requests counts the requests that f makes.
func (c *Client) Requests(f func()) int64 {
	before := c.requests.Load()
	f()
	return c.requests.Load() - before
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Namespace returns a fresh namespace of the test.
func Namespace(t testing.TB) string {
	t.Helper()
	return cluster.Get(t).Namespace(t)
}

// Owner creates an object that can own others.
func Owner(t testing.TB, c client.Client, namespace, name string) client.Object {
	t.Helper()
	owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	Create(t, c, owner)
	return owner
}

// Create creates an object.
func Create(t testing.TB, c client.Client, obj client.Object) {
	t.Helper()
	if err := c.Create(t.Context(), obj); err != nil {
		t.Fatal(err)
	}
}

// Read returns the object as the API server has it.
func Read[T client.Object](t testing.TB, c client.Client, obj T) T {
	t.Helper()
	if err := c.Get(context.WithoutCancel(t.Context()), client.ObjectKeyFromObject(obj), obj); err != nil {
		t.Fatal(err)
	}
	return obj
}

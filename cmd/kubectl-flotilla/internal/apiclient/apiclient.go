package apiclient

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
)

// Names in the cluster.
const (
	Service          = "status-aggregator"
	Port             = "api"
	DefaultNamespace = "flotilla-system"
)

// Errors that a user can cause or fix.
var (
	// ErrAddress reports an invalid address of the API.
	ErrAddress = errors.New("address of the status API")
	// ErrNotFound reports that the cluster has no reachable status aggregator.
	ErrNotFound = errors.New("status aggregator not found")
	// ErrNoToken reports that the caller has no credentials that the API accepts.
	ErrNoToken = errors.New("no token for the status API")
)

// Options describe the address of the API and the credentials.
type Options struct {
	// URL is the address of the API; empty means through the API server.
	URL string
	// CAFile has the trusted certificates in PEM; empty means the system's.
	CAFile string
	// Namespace is the namespace of the Service.
	Namespace string
	// ServiceAccount, as [NAMESPACE/]NAME, is the account whose token is used; empty means the caller's own token.
	ServiceAccount string
	// Audience is the audience of that token; empty means the API server's.
	Audience string
	// DefaultNamespace is the namespace of a ServiceAccount that is given without one.
	DefaultNamespace string
	Clock            clock.PassiveClock
}

// API is a connection to the status API.
type API struct {
	Base *url.URL
	// Transport adds the credentials to each request.
	Transport http.RoundTripper
}

// Open prepares access to the API. With a URL it makes no request.
func Open(ctx context.Context, config *rest.Config, o Options) (*API, error) {
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("prepare the client: %w", err)
	}
	api, transport, err := route(ctx, config, kube, o)
	if err != nil {
		return nil, err
	}
	if api.Transport, err = credentials(config, kube, o, transport); err != nil {
		return nil, err
	}
	return api, nil
}

func route(ctx context.Context, config *rest.Config, kube kubernetes.Interface, o Options) (*API, *http.Transport, error) {
	trust, err := roots(o.CAFile)
	if err != nil {
		return nil, nil, err
	}
	transport := &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: trust, MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2: true,
		Proxy:             http.ProxyFromEnvironment,
	}
	if o.URL != "" {
		base, err := address(o.URL)
		return &API{Base: base}, transport, err
	}
	tunnel := &tunnel{config: config, kube: kube, namespace: o.Namespace}
	target, err := tunnel.locate(ctx)
	if err != nil {
		return nil, nil, err
	}
	transport.DialContext, transport.Proxy = tunnel.DialContext, nil
	base := &url.URL{Scheme: "https", Host: net.JoinHostPort(Service+"."+o.Namespace+".svc", target.servicePort)}
	return &API{Base: base}, transport, nil
}

// address rejects an address to which credentials would be sent unencrypted.
func address(text string) (*url.URL, error) {
	base, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrAddress, err)
	case base.Host == "" || base.Scheme != "https" && base.Scheme != "http":
		return nil, fmt.Errorf("%w: %q is not of the form https://HOST[:PORT]", ErrAddress, text)
	case base.Scheme == "http" && !loopback(base.Hostname()):
		return nil, fmt.Errorf("%w: %q would send your credentials unencrypted; use https, or http to this machine only", ErrAddress, text)
	}
	return base, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func roots(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil // nil means the system's certificates
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the certificates of the status API: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%w: no certificate in %q", ErrAddress, file)
	}
	return pool, nil
}

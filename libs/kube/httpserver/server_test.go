package httpserver_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/flotilla-dev/flotilla/libs/kube/httpserver"
	"github.com/flotilla-dev/flotilla/libs/testkit/certdir"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
)

var _ manager.LeaderElectionRunnable = &httpserver.Server{}

// running is a server that listens.
type running struct {
	*testing.T
	address string
	stop    context.CancelFunc
	ended   chan error
}

func config(change ...func(*httpserver.Config)) httpserver.Config {
	c := httpserver.Config{
		Options: httpserver.Options{BindAddress: "127.0.0.1:0", MaxRequests: 10, RequestTimeout: time.Minute},
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }),
		Log:     logr.Discard(),
	}
	for _, f := range change {
		f(&c)
	}
	return c
}

func run(t *testing.T, change ...func(*httpserver.Config)) *running {
	t.Helper()
	server := httpserver.New(config(change...))
	ctx, cancel := context.WithCancel(t.Context())
	r := &running{T: t, stop: cancel, ended: make(chan error, 1)}
	go func() { r.ended <- server.Start(ctx) }()
	t.Cleanup(cancel)
	address, err := server.Address(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r.address = address
	return r
}

func TestCheckFailsUntilServerListens(t *testing.T) {
	server := httpserver.New(config())
	if err := server.Check(nil); err == nil {
		t.Error("ready before it listens")
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- server.Start(ctx) }()
	if _, err := server.Address(ctx); err != nil {
		t.Fatal(err)
	}
	if err := server.Check(nil); err != nil {
		t.Error(err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// get sends a request over a new connection and returns the code and the server's certificate, if any.
func (r *running) get(scheme string, trust *x509.CertPool) (int, *x509.Certificate, error) {
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trust, InsecureSkipVerify: trust == nil}} // then the certificate is checked
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(r.Context(), http.MethodGet, scheme+"://"+r.address, http.NoBody)
	if err != nil {
		return 0, nil, err
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return 0, nil, err
	}
	if response.TLS == nil {
		return response.StatusCode, nil, response.Body.Close()
	}
	return response.StatusCode, response.TLS.PeerCertificates[0], response.Body.Close()
}

func TestServerNeedsNoLeaderElection(t *testing.T) {
	if httpserver.New(config()).NeedLeaderElection() {
		t.Error("only the leader would serve")
	}
}

func TestServerCreatesCertificateOnLoopback(t *testing.T) {
	r := run(t)
	code, cert, err := r.get("https", nil)
	if err != nil || code != http.StatusNoContent {
		t.Fatalf("status %d, %v", code, err)
	}
	if err := errors.Join(cert.VerifyHostname("127.0.0.1"), cert.VerifyHostname("localhost")); err != nil {
		t.Error(err)
	}
	if code, _, err := r.get("http", nil); err != nil || code != http.StatusBadRequest {
		t.Errorf("without TLS the status is %d, %v", code, err)
	}
	r.stop()
	if err := <-r.ended; err != nil {
		t.Errorf("ended with %v", err)
	}
}

func TestPlainRequiresServerWithoutCertificate(t *testing.T) {
	plain := func(c *httpserver.Config) { c.Plain = true }
	if code, _, err := run(t, plain).get("http", nil); err != nil || code != http.StatusNoContent {
		t.Errorf("without a certificate the status is %d, %v", code, err)
	}
	dir := t.TempDir()
	trust := certdir.Write(t, dir)
	r := run(t, plain, func(c *httpserver.Config) { c.Options.CertDir = dir })
	if code, _, err := r.get("https", trust); err != nil || code != http.StatusNoContent {
		t.Errorf("with a certificate the status is %d, %v", code, err)
	}
	if code, _, err := r.get("http", nil); err != nil || code != http.StatusBadRequest {
		t.Errorf("with a certificate, but without TLS, the status is %d, %v", code, err)
	}
}

func TestServerReloadsCertificateFiles(t *testing.T) {
	dir := t.TempDir()
	trust := certdir.Write(t, dir)
	r := run(t, func(c *httpserver.Config) { c.Options.CertDir = dir })
	if code, _, err := r.get("https", trust); err != nil || code != http.StatusNoContent {
		t.Fatalf("status %d, %v", code, err)
	}
	trust = certdir.Write(t, dir)
	expect.Eventually(t, expect.Long, func() error {
		_, _, err := r.get("https", trust)
		return err
	})
}

func TestServerFinishesRequestsOnShutdown(t *testing.T) {
	entered, release, shutdown := make(chan struct{}), make(chan struct{}), make(chan struct{})
	r := run(t, func(c *httpserver.Config) {
		c.OnShutdown = func() { close(shutdown) }
		c.Handler = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			entered <- struct{}{}
			<-release
		})
	})
	answer := make(chan error, 1)
	go func() {
		code, _, err := r.get("https", nil)
		if err == nil && code != http.StatusOK {
			err = fmt.Errorf("status is %d", code)
		}
		answer <- err
	}()
	<-entered
	r.stop()
	<-shutdown
	expect.Eventually(t, expect.Long, func() error { // new connections are refused
		conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(t.Context(), "tcp", r.address)
		if err != nil {
			return nil //nolint:nilerr // the expected result
		}
		return errors.Join(errors.New("it still listens"), conn.Close())
	})
	close(release)
	if err := errors.Join(<-answer, <-r.ended); err != nil {
		t.Error(err)
	}
}

// A server without streams ends a response that takes twice the timeout of a request.
func TestServerBoundsRequestsButNotStreams(t *testing.T) {
	tests := map[string]struct {
		streams bool
		bounded bool
	}{"requests": {false, true}, "streams": {true, false}}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r := run(t, func(c *httpserver.Config) {
				c.Streams = tc.streams
				c.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					server, _ := r.Context().Value(http.ServerContextKey).(*http.Server)
					if bounded := server.WriteTimeout > 0 && server.ReadTimeout > 0; bounded == tc.bounded {
						w.WriteHeader(http.StatusNoContent)
					}
				})
			})
			if code, _, err := r.get("https", nil); err != nil || code != http.StatusNoContent {
				t.Errorf("bounded is not %v: %d, %v", tc.bounded, code, err)
			}
		})
	}
}

// A request whose body never arrives occupies neither its handler nor, for longer than the timeout, its connection.
func TestServerBoundsBodiesWithStreams(t *testing.T) {
	send := func(timeout time.Duration) net.Conn {
		r := run(t, func(c *httpserver.Config) {
			c.Plain, c.Streams, c.Options.RequestTimeout = true, true, timeout
			c.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if err := http.NewResponseController(w).Flush(); err != nil {
					t.Error(err)
				}
			})
		})
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", r.address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		if err := conn.SetDeadline(time.Now().Add(expect.Long)); err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: api\r\nContent-Length: 10\r\n\r\nbody")
		return conn
	}
	t.Run("handler", func(t *testing.T) {
		line, err := bufio.NewReader(send(time.Hour)).ReadString('\n')
		if err != nil || !strings.Contains(line, "200 OK") {
			t.Errorf("got %q, %v", line, err)
		}
	})
	t.Run("connection", func(t *testing.T) {
		response, err := io.ReadAll(send(time.Millisecond))
		if err != nil || !strings.Contains(string(response), "Connection: close") {
			t.Errorf("got %q, %v", response, err)
		}
	})
}

func TestServerNamesAddressInUse(t *testing.T) {
	first := run(t)
	second := httpserver.New(config(func(c *httpserver.Config) { c.Options.BindAddress = first.address }))
	if err := second.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "--api-bind-address cannot be used") {
		t.Errorf("error %v", err)
	}
	empty := httpserver.New(config(func(c *httpserver.Config) { c.Options.CertDir = t.TempDir() }))
	if err := empty.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "--api-cert-dir") {
		t.Errorf("error %v", err)
	}
}

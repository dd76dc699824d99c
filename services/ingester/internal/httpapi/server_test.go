package httpapi

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	certutil "k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
)

var _ manager.LeaderElectionRunnable = &Server{}

// running is a server that listens.
type running struct {
	*testing.T
	address string
	stop    context.CancelFunc
	ended   chan error
}

func run(t *testing.T, change ...func(*Config)) *running {
	t.Helper()
	var server *Server
	newBench(t, append(change, func(c *Config) {
		s, err := New(Config{Options: c.Options, Gate: c.Gate, Cluster: c.Cluster, Store: c.Store, Log: c.Log, Clock: c.Clock})
		if err != nil {
			t.Fatal(err)
		}
		server = s
	})...)
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

// get asks over a new connection and returns the answer's code and the certificate shown.
func (r *running) get(trust *x509.CertPool) (int, *x509.Certificate, error) {
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trust, InsecureSkipVerify: trust == nil}} //nolint:gosec // then the certificate is looked at
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(r.Context(), http.MethodGet, "https://"+r.address+churn, http.NoBody)
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set("Authorization", "Bearer x")
	response, err := transport.RoundTrip(request)
	if err != nil {
		return 0, nil, err
	}
	return response.StatusCode, response.TLS.PeerCertificates[0], response.Body.Close()
}

func TestEveryReplicaServes(t *testing.T) {
	if (&Server{}).NeedLeaderElection() {
		t.Error("only the leader would serve")
	}
}

func TestOnLoopbackTheCertificateIsMadeInMemory(t *testing.T) {
	r := run(t)
	code, shown, err := r.get(nil)
	if err != nil || code != http.StatusNotFound {
		t.Fatalf("answer %d, %v", code, err)
	}
	if err := errors.Join(shown.VerifyHostname("127.0.0.1"), shown.VerifyHostname("localhost")); err != nil {
		t.Error(err)
	}
	response, err := http.Get("http://" + r.address + churn) //nolint:noctx // it is over at once
	if err != nil {
		t.Fatal(err)
	}
	if err := response.Body.Close(); err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != http.StatusBadRequest {
		t.Errorf("without TLS the answer is %d", response.StatusCode)
	}
	r.stop()
	if err := <-r.ended; err != nil {
		t.Errorf("ended with %v", err)
	}
}

// writeCertificate puts a new certificate into the folder and returns who trusts it.
func writeCertificate(t *testing.T, dir string) *x509.CertPool {
	t.Helper()
	cert, key, err := certutil.GenerateSelfSignedCertKey("localhost", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{certFile: cert, keyFile: key} {
		next := filepath.Join(dir, "."+name)
		if err := os.WriteFile(next, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(next, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(bytes.TrimSpace(cert)) {
		t.Fatal("no certificate")
	}
	return pool
}

func TestCertificateFilesAreReadAgain(t *testing.T) {
	dir := t.TempDir()
	trust := writeCertificate(t, dir)
	r := run(t, func(c *Config) { c.Options.CertDir = dir })
	if code, _, err := r.get(trust); err != nil || code != http.StatusNotFound {
		t.Fatalf("answer %d, %v", code, err)
	}
	trust = writeCertificate(t, dir)
	expect.Eventually(t, expect.Long, func() error {
		_, _, err := r.get(trust)
		return err
	})
}

func TestWhatHasBegunIsFinished(t *testing.T) {
	c := &blocking{entered: make(chan struct{}), release: make(chan struct{})}
	r := run(t, func(config *Config) { config.Cluster = c })
	answer := make(chan error, 1)
	go func() {
		code, _, err := r.get(nil)
		if err == nil && code != http.StatusOK {
			err = fmt.Errorf("the answer is %d", code)
		}
		answer <- err
	}()
	<-c.entered
	r.stop()
	expect.Eventually(t, expect.Long, func() error { // new connections are refused
		conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(t.Context(), "tcp", r.address)
		if err != nil {
			return nil //nolint:nilerr // that is what we wait for
		}
		return errors.Join(errors.New("it still listens"), conn.Close())
	})
	close(c.release)
	if err := errors.Join(<-answer, <-r.ended); err != nil {
		t.Error(err)
	}
}

func TestAnAddressInUseIsNamed(t *testing.T) {
	first := run(t)
	server := &Server{options: Options{BindAddress: first.address}, listening: make(chan struct{})}
	if err := server.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "--api-bind-address cannot be used") {
		t.Errorf("error %v", err)
	}
	server = &Server{options: Options{BindAddress: "127.0.0.1:0", CertDir: t.TempDir()}, listening: make(chan struct{})}
	if err := server.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "--api-cert-dir") {
		t.Errorf("error %v", err)
	}
}

package apiclient

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"

	"github.com/flotilla-dev/flotilla/cmd/kubectl-flotilla/internal/statustest"
)

// kubelet is a fake API server and kubelet: a Service, its pod, and port-forward to a server.
type kubelet struct {
	t      *testing.T
	to     string // address of the server in the pod
	scheme string // scheme of the Service

	mu     sync.Mutex
	shared []httpstream.Connection
	ports  []string
}

func (k *kubelet) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	const base = "/api/v1/namespaces/flotilla-system"
	switch r.URL.Path {
	case base + "/services/" + Service:
		k.respond(w, service(func(p *corev1.ServicePort) { p.AppProtocol = new(k.scheme) }))
	case base + "/pods":
		k.respond(w, corev1.PodList{Items: []corev1.Pod{*pod("agg-0", "agg", true)}})
	case base + "/pods/agg-0/portforward":
		k.forward(w, r)
	default:
		http.NotFound(w, r)
	}
}

func (k *kubelet) respond(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(v); err != nil {
		k.t.Error(err)
	}
}

func (k *kubelet) forward(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost { // WebSockets begin with a GET; this server supports only SPDY
		http.Error(w, "no WebSockets here", http.StatusBadRequest)
		return
	}
	if _, err := httpstream.Handshake(r, w, []string{portforward.PortForwardProtocolV1Name}); err != nil {
		k.t.Error(err)
		return
	}
	streams := make(chan httpstream.Stream, 16)
	shared := spdy.NewResponseUpgrader().UpgradeResponse(w, r, func(s httpstream.Stream, _ <-chan struct{}) error {
		streams <- s
		return nil
	})
	if shared == nil {
		return
	}
	k.mu.Lock()
	k.shared = append(k.shared, shared)
	k.mu.Unlock()
	errorStreams := map[string]httpstream.Stream{}
	for {
		select {
		case <-shared.CloseChan():
			return
		case s := <-streams:
			id := s.Headers().Get(corev1.PortForwardRequestIDHeader)
			if s.Headers().Get(corev1.StreamType) == corev1.StreamTypeError {
				errorStreams[id] = s
				continue
			}
			go k.pipe(r.Context(), s, errorStreams[id])
		}
	}
}

func (k *kubelet) pipe(ctx context.Context, data, errorStream httpstream.Stream) {
	k.mu.Lock()
	k.ports = append(k.ports, data.Headers().Get(corev1.PortHeader))
	k.mu.Unlock()
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", k.to)
	if err != nil {
		fmt.Fprintf(errorStream, "nothing listens in the pod")
		_ = errorStream.Close()
		_ = data.Close()
		return
	}
	defer conn.Close()
	_ = errorStream.Close()
	go func() { _, _ = io.Copy(conn, data) }()
	_, _ = io.Copy(data, conn)
	_ = data.Close()
}

// disconnect breaks all connections, like a restart of the kubelet.
func (k *kubelet) disconnect() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, c := range k.shared {
		_ = c.Close()
	}
	return len(k.shared)
}

func TestTunnelReconnectsToPod(t *testing.T) {
	upstream, file := certified(t)
	k := &kubelet{t: t, to: upstream.Listener.Addr().String(), scheme: "https"}
	server := httptest.NewServer(k)
	defer server.Close()
	config := &rest.Config{Host: server.URL, BearerToken: statustest.Token}
	api, err := Open(t.Context(), config, Options{Namespace: "flotilla-system", CAFile: file})
	if err != nil {
		t.Fatal(err)
	}
	if api.Base.String() != "https://status-aggregator.flotilla-system.svc:8446" {
		t.Errorf("the API is at %s", api.Base)
	}
	for range 3 {
		if status, err := get(t, api, "/api/v1/resources"); err != nil || status != http.StatusOK {
			t.Fatalf("got %d, %v", status, err)
		}
	}
	if n := k.disconnect(); n != 1 {
		t.Errorf("%d connections to the pod instead of a shared one", n)
	}
	// A request in flight may fail; the next one reconnects.
	status, err := get(t, api, "/api/v1/resources")
	if err != nil {
		status, err = get(t, api, "/api/v1/resources")
	}
	if err != nil || status != http.StatusOK {
		t.Fatalf("after a loss: got %d, %v", status, err)
	}
	if n := k.disconnect(); n != 2 || k.ports[0] != "8443" {
		t.Errorf("%d connections, ports %v", n, k.ports)
	}
}

func TestTunnelReturnsRemoteError(t *testing.T) {
	k := &kubelet{t: t, to: "127.0.0.1:1", scheme: "https"}
	server := httptest.NewServer(k)
	defer server.Close()
	defer k.disconnect()
	api, err := Open(t.Context(), &rest.Config{Host: server.URL, BearerToken: "t"}, Options{Namespace: "flotilla-system"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = get(t, api, "/api/v1/resources")
	if err == nil || !strings.Contains(err.Error(), "nothing listens in the pod") || errors.Is(err, ErrNoToken) {
		t.Errorf("got %v", err)
	}
}

func TestTunnelSendsNoTokenOverHTTP(t *testing.T) {
	upstream := statustest.Start(t)
	k := &kubelet{t: t, to: upstream.Listener.Addr().String(), scheme: "http"}
	server := httptest.NewServer(k)
	defer server.Close()
	_, err := Open(t.Context(), &rest.Config{Host: server.URL, BearerToken: statustest.Token}, Options{Namespace: "flotilla-system"})
	if !errors.Is(err, ErrAddress) || !strings.Contains(err.Error(), "--status-url") {
		t.Errorf("got %v", err)
	}
	if requests := upstream.Requests(); len(requests) != 0 {
		t.Errorf("%d requests were sent", len(requests))
	}
}

// certified starts a status API with a certificate for the Service's name, and returns the file of the certificate.
func certified(t *testing.T) (*httptest.Server, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"status-aggregator.flotilla-system.svc"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(statustest.New().Handler())
	server.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	t.Cleanup(server.Close)
	return server, file
}

func TestTunnelVerifiesServiceName(t *testing.T) {
	upstream, file := certified(t)
	k := &kubelet{t: t, to: upstream.Listener.Addr().String(), scheme: "https"}
	server := httptest.NewServer(k)
	defer server.Close()
	defer k.disconnect()
	config := &rest.Config{Host: server.URL, BearerToken: statustest.Token}
	api, err := Open(t.Context(), config, Options{Namespace: "flotilla-system", CAFile: file})
	if err != nil {
		t.Fatal(err)
	}
	if status, err := get(t, api, "/api/v1/resources"); err != nil || status != http.StatusOK {
		t.Errorf("got %d, %v", status, err)
	}
	unknown, err := Open(t.Context(), config, Options{Namespace: "flotilla-system"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := get(t, unknown, "/api/v1/resources"); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a certificate of an unknown CA was trusted: %v", err)
	}
}

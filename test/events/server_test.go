package events

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/natstest/busauth"
)

// certificate writes a self-signed certificate for loopback, as tls.crt and tls.key.
func certificate(t *testing.T) (dir string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "nats"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	for name, block := range map[string]*pem.Block{
		"tls.crt": {Type: "CERTIFICATE", Bytes: der}, "tls.key": {Type: "EC PRIVATE KEY", Bytes: secret},
	} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// The example configuration of a server works unchanged, except for its paths and its port.
func TestExampleServerRequiresTLS(t *testing.T) {
	certificates, dir := certificate(t), busauth.Files(t, names)
	file := filepath.Join(dir, "nats-server.conf")
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer(
		"/etc/nats/tls", certificates, `"/data"`, `"`+t.TempDir()+`"`, "port: 4222", "port: -1", `http: "127.0.0.1:8222"`, "",
	).Replace(string(raw))
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	o, err := server.ProcessConfigFile(file)
	if err != nil {
		t.Fatal(err)
	}
	o.Host, o.NoLog, o.NoSigs = "127.0.0.1", true, true
	srv, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	srv.Start()
	t.Cleanup(func() { srv.Shutdown(); srv.WaitForShutdown() })
	if !srv.ReadyForConnections(expect.Long) {
		t.Fatal("the server did not start")
	}
	address := strings.TrimPrefix(srv.ClientURL(), "tls://")
	url := "tls://bootstrap:" + busauth.Password + "@" + strings.TrimPrefix(address, "nats://")

	conn, err := bus.Connect(bus.Config{URL: url, Name: "bootstrap", TLS: bus.TLS{CAFile: filepath.Join(certificates, "tls.crt")}})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	expect.Eventually(t, expect.Long, func() error {
		if !conn.Connected() {
			return fmt.Errorf("not connected: %w", conn.JetStream().Conn().LastError())
		}
		return nil
	})
	if err := bus.Bootstrap(t.Context(), conn.JetStream(), bus.DefaultParams()); err != nil {
		t.Error(err)
	}
	for name, other := range map[string]string{
		"an unknown CA": url, "no TLS": strings.Replace(url, "tls://", "nats://", 1),
	} {
		if nc, err := nats.Connect(other); err == nil {
			nc.Close()
			t.Errorf("connected with %s", name)
		}
	}
}

// Package natstls makes NATS servers that want client certificates, and the files with
// which their clients come.
//
//	authority := natstls.New(t)
//	srv := natstest.Start(t, authority.Require())
//	files := authority.Client(t, t.TempDir(), "ingester")
package natstls

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/flotilla-dev/flotilla/libs/testkit/natstest"
)

const (
	validity = time.Hour
	readable = 0o600
)

// Authority signs the certificates of servers and clients.
type Authority struct {
	key     *ecdsa.PrivateKey
	cert    *x509.Certificate
	current atomic.Pointer[tls.Config] // of the servers that it was asked for
}

// Files are PEM files: the authority, a client's certificate and its key.
type Files struct{ CA, Cert, Key string }

// New makes an authority.
func New(t testing.TB) *Authority {
	t.Helper()
	a := &Authority{}
	a.Renew(t)
	return a
}

// Renew replaces the authority: from now on servers show certificates of the new one,
// and take no client of the former.
func (a *Authority) Renew(t testing.TB) {
	t.Helper()
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: "test authority"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	a.key = newKey(t)
	a.cert = parse(t, sign(t, template, template, a.key, a.key))
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	key := newKey(t)
	a.current.Store(&tls.Config{
		MinVersion: tls.VersionTLS12,
		Certificates: []tls.Certificate{{
			PrivateKey: key,
			Certificate: [][]byte{sign(t, &x509.Certificate{
				Subject: pkix.Name{CommonName: "nats"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
				ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
			}, a.cert, key, a.key)},
		}},
		ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert,
	})
}

// Require makes a server speak TLS only, and only with clients of the authority.
func (a *Authority) Require() natstest.Option {
	return func(o *server.Options) {
		o.TLS, o.TLSVerify, o.TLSTimeout = true, true, 5
		o.TLSConfig = &tls.Config{
			MinVersion:         tls.VersionTLS12,
			Certificates:       a.current.Load().Certificates,
			GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return a.current.Load(), nil },
		}
	}
}

// Client writes the files of a client into a folder, over those that are there.
func (a *Authority) Client(t testing.TB, dir, name string) Files {
	t.Helper()
	key := newKey(t)
	cert := sign(t, &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, a.cert, key, a.key)
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	files := Files{CA: filepath.Join(dir, "ca.crt"), Cert: filepath.Join(dir, "tls.crt"), Key: filepath.Join(dir, "tls.key")}
	write(t, files.CA, "CERTIFICATE", a.cert.Raw)
	write(t, files.Cert, "CERTIFICATE", cert)
	write(t, files.Key, "PRIVATE KEY", raw)
	return files
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func sign(t testing.TB, template, parent *x509.Certificate, key, by *ecdsa.PrivateKey) []byte {
	t.Helper()
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		t.Fatal(err)
	}
	template.SerialNumber = serial
	template.NotBefore, template.NotAfter = time.Now().Add(-validity), time.Now().Add(validity) //nolint:forbidigo // the servers and clients that read it go by the machine's clock
	raw, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), by)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func parse(t testing.TB, raw []byte) *x509.Certificate {
	t.Helper()
	cert, err := x509.ParseCertificate(raw)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

func write(t testing.TB, path, kind string, raw []byte) {
	t.Helper()
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: raw}), readable); err != nil {
		t.Fatal(err)
	}
}

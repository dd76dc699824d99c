// Package natstls configures NATS servers that require client certificates, and writes the
// certificates of their clients.
//
//	authority := natstls.New(t)
//	srv := natstest.Start(t, authority.Require())
//	files := authority.Client(t, t.TempDir(), "ingester")
package natstls

import (
	"crypto/tls"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/flotilla-dev/flotilla/libs/testkit/authority"
	"github.com/flotilla-dev/flotilla/libs/testkit/natstest"
)

const validity = time.Hour

// Authority signs the certificates of servers and clients.
type Authority struct {
	signer  *authority.Authority
	current atomic.Pointer[tls.Config] // of the requested servers
}

// Files are paths of PEM files: the authority, a client's certificate and its key.
type Files struct{ CA, Cert, Key string }

// New creates an authority.
func New(t testing.TB) *Authority {
	t.Helper()
	a := &Authority{}
	a.Renew(t)
	return a
}

// Renew replaces the authority: from now on servers present certificates of the new one
// and reject clients of the previous one.
func (a *Authority) Renew(t testing.TB) {
	t.Helper()
	now := time.Now() //nolint:forbidigo // servers and clients use the machine's clock
	var err error
	if a.signer, err = authority.New("test authority", now.Add(-validity), now.Add(validity)); err != nil {
		t.Fatal(err)
	}
	issued, err := a.signer.Issue(authority.Subject{User: "nats", Hosts: []string{"127.0.0.1"}})
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(issued.Cert, issued.Key)
	if err != nil {
		t.Fatal(err)
	}
	a.current.Store(&tls.Config{
		MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair},
		ClientCAs: a.signer.Pool(), ClientAuth: tls.RequireAndVerifyClientCert,
	})
}

// Require makes a server require TLS and client certificates of the authority.
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

// Client writes the files of a client into a directory. It replaces existing files.
func (a *Authority) Client(t testing.TB, dir, name string) Files {
	t.Helper()
	files := Files{CA: filepath.Join(dir, "ca.crt"), Cert: filepath.Join(dir, "tls.crt"), Key: filepath.Join(dir, "tls.key")}
	pair, err := a.signer.Issue(authority.Subject{User: name})
	if err == nil {
		err = pair.Write(dir, "tls")
	}
	if err == nil {
		err = os.WriteFile(files.CA, a.signer.Cert, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return files
}

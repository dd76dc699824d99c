// Package certdir creates directories with a certificate for loopback, in the layout of a mounted Secret.
package certdir

import (
	"crypto/x509"
	"net"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	certutil "k8s.io/client-go/util/cert"
)

// Write writes a new certificate for localhost and 127.0.0.1 into the directory and returns the pool that trusts it.
// It replaces existing files atomically, so that readers never see a partial file.
func Write(t testing.TB, dir string) *x509.CertPool {
	t.Helper()
	cert, key, err := certutil.GenerateSelfSignedCertKey("localhost", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{corev1.TLSCertKey: cert, corev1.TLSPrivateKeyKey: key} {
		next := filepath.Join(dir, "."+name)
		if err := os.WriteFile(next, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(next, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(cert) {
		t.Fatal("no certificate")
	}
	return pool
}

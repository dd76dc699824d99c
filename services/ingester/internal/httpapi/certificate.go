package httpapi

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"path/filepath"

	certutil "k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
)

// certificate is what the server shows, and what keeps it up to date until ctx ends.
type certificate struct {
	config *tls.Config
	watch  func(ctx context.Context) error
}

func (o *Options) certificate() (certificate, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if o.CertDir != "" {
		watcher, err := certwatcher.New(filepath.Join(o.CertDir, certFile), filepath.Join(o.CertDir, keyFile))
		if err != nil {
			return certificate{}, fmt.Errorf("--api-cert-dir: %w", err)
		}
		config.GetCertificate = watcher.GetCertificate
		return certificate{config: config, watch: watcher.Start}, nil
	}
	loopback := []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
	cert, key, err := certutil.GenerateSelfSignedCertKey("localhost", loopback, nil)
	if err != nil {
		return certificate{}, fmt.Errorf("make a certificate for loopback: %w", err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return certificate{}, fmt.Errorf("read the certificate for loopback: %w", err)
	}
	config.Certificates = []tls.Certificate{pair}
	return certificate{config: config, watch: func(ctx context.Context) error { <-ctx.Done(); return nil }}, nil
}

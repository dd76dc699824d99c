package httpserver

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"path/filepath"

	certutil "k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
)

// certificate holds the TLS configuration of the server. watch reloads the certificate until ctx ends.
type certificate struct {
	config *tls.Config // nil for plain HTTP
	watch  func(ctx context.Context) error
}

// files reads the certificate from a directory.
func files(dir string) (certificate, error) {
	watcher, err := certwatcher.New(filepath.Join(dir, CertFile), filepath.Join(dir, KeyFile))
	if err != nil {
		return certificate{}, fmt.Errorf("--api-cert-dir: %w", err)
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: watcher.GetCertificate}
	return certificate{config: config, watch: watcher.Start}, nil
}

// inMemory creates a certificate for loopback that no other process trusts.
func inMemory() (certificate, error) {
	loopback := []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
	cert, key, err := certutil.GenerateSelfSignedCertKey("localhost", loopback, nil)
	if err != nil {
		return certificate{}, fmt.Errorf("generate loopback certificate: %w", err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return certificate{}, fmt.Errorf("parse loopback certificate: %w", err)
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}}
	return certificate{config: config, watch: waitDone}, nil
}

// waitDone blocks until ctx ends: a certificate in memory needs no watch.
func waitDone(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

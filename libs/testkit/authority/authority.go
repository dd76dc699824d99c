// Package pki makes the certificates of a cluster with one real node: an authority, and what it signs for the API
// server, the node and the programs that speak to them. They are made anew with each cluster and never leave its folder.
package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// life of all certificates is longer than a stack is left running.
const life = 2 * 365 * 24 * time.Hour

// Authority signs certificates and writes them into a folder.
type Authority struct {
	dir  string
	cert *x509.Certificate
	key  crypto.Signer
	now  time.Time
}

// Subject is who a certificate is for. Without Hosts it is a client's, with them a server's.
type Subject struct {
	User   string
	Groups []string
	Hosts  []string // names and addresses
}

// New makes an authority and writes its certificate and its key as ca.crt and ca.key.
func New(dir string, now time.Time) (*Authority, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make an authority: %w", err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make an authority: %w", err)
	}
	a := &Authority{dir: dir, key: key, now: now}
	template, err := a.template(Subject{User: "flotilla-node"})
	if err != nil {
		return nil, err
	}
	template.IsCA, template.BasicConstraintsValid, template.ExtKeyUsage = true, true, nil
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature | x509.KeyUsageCRLSign
	a.cert = template
	if err := a.sign("ca", template, key); err != nil {
		return nil, err
	}
	// What it signs carries its identity as it was written.
	a.cert, err = parse(filepath.Join(dir, "ca.crt"))
	return a, err
}

// Issue writes a certificate and its key as <name>.crt and <name>.key.
func (a *Authority) Issue(name string, s Subject) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("make the key of %s: %w", name, err)
	}
	template, err := a.template(s)
	if err != nil {
		return err
	}
	return a.sign(name, template, key)
}

func (a *Authority) template(s Subject) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("make a serial number: %w", err)
	}
	t := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: s.User, Organization: s.Groups},
		NotBefore:    a.now.Add(-time.Hour),
		NotAfter:     a.now.Add(life),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	for _, host := range s.Hosts {
		t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
		if ip := net.ParseIP(host); ip != nil {
			t.IPAddresses = append(t.IPAddresses, ip)
		} else {
			t.DNSNames = append(t.DNSNames, host)
		}
	}
	return t, nil
}

func (a *Authority) sign(name string, template *x509.Certificate, key *ecdsa.PrivateKey) error {
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return fmt.Errorf("sign the certificate of %s: %w", name, err)
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return fmt.Errorf("write the key of %s: %w", name, err)
	}
	return errors.Join(
		write(filepath.Join(a.dir, name+".crt"), "CERTIFICATE", der),
		write(filepath.Join(a.dir, name+".key"), "EC PRIVATE KEY", keyDER),
	)
}

func write(file, kind string, der []byte) error {
	return os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}

func parse(file string) (*x509.Certificate, error) {
	data, err := os.ReadFile(file) //nolint:gosec // written a moment ago
	if err != nil {
		return nil, fmt.Errorf("read a certificate: %w", err)
	}
	block, _ := pem.Decode(data)
	if block == nil {
		return nil, fmt.Errorf("read a certificate: %s is not PEM", file)
	}
	return x509.ParseCertificate(block.Bytes)
}

// Package authority signs certificates: for the servers and clients of tests, and for a cluster with one real node. It
// imports only the standard library, so that modules without Kubernetes dependencies can use it.
package authority

import (
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

// Authority signs certificates that are valid as long as its own.
type Authority struct {
	Pair
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
}

// Subject identifies the holder of a certificate: a server if Hosts is set, a client otherwise.
type Subject struct {
	User   string
	Groups []string
	Hosts  []string // names and addresses
}

// Pair is a certificate and its key in PEM.
type Pair struct{ Cert, Key []byte }

// New creates an authority that is valid from one time until another.
func New(name string, from, until time.Time) (*Authority, error) {
	a := &Authority{cert: &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true, NotBefore: from, NotAfter: until,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature | x509.KeyUsageCRLSign,
	}}
	var err error
	if a.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, fmt.Errorf("make an authority: %w", err)
	}
	if a.Pair, err = a.sign(a.cert, a.key); err != nil {
		return nil, err
	}
	// Certificates signed by the authority carry its identity as encoded in the file.
	block, _ := pem.Decode(a.Cert)
	a.cert, err = x509.ParseCertificate(block.Bytes)
	return a, err
}

// Issue creates a key and signs a certificate for it.
func (a *Authority) Issue(s Subject) (Pair, error) {
	t := &x509.Certificate{
		Subject:   pkix.Name{CommonName: s.User, Organization: s.Groups},
		NotBefore: a.cert.NotBefore, NotAfter: a.cert.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	for _, host := range s.Hosts {
		t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
		if ip := net.ParseIP(host); ip != nil {
			t.IPAddresses = append(t.IPAddresses, ip)
		} else {
			t.DNSNames = append(t.DNSNames, host)
		}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, fmt.Errorf("make the key of %s: %w", s.User, err)
	}
	return a.sign(t, key)
}

func (a *Authority) sign(template *x509.Certificate, key *ecdsa.PrivateKey) (Pair, error) {
	name := template.Subject.CommonName
	var err error
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127)); err != nil {
		return Pair{}, fmt.Errorf("make a serial number: %w", err)
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return Pair{}, fmt.Errorf("sign the certificate of %s: %w", name, err)
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return Pair{}, fmt.Errorf("write the key of %s: %w", name, err)
	}
	return Pair{
		Cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}),
		Key:  pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private}),
	}, nil
}

// Pool returns a certificate pool that contains only the authority.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

// Write writes <name>.crt and <name>.key into a directory.
func (p Pair) Write(dir, name string) error {
	return errors.Join(
		os.WriteFile(filepath.Join(dir, name+".crt"), p.Cert, 0o600),
		os.WriteFile(filepath.Join(dir, name+".key"), p.Key, 0o600),
	)
}

package certs

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"fmt"
	"math/big"
	"net"
	"time"
)

// Lifetimes are the validity periods of certificates. Each is renewed when a third is left.
type Lifetimes struct{ Authority, Serving time.Duration }

// DefaultLifetimes are used where [Config.Lifetimes] is zero.
var DefaultLifetimes = Lifetimes{Authority: 2 * 365 * 24 * time.Hour, Serving: 180 * 24 * time.Hour}

// skew is the tolerated lag of the clock of an API server.
const skew = time.Hour

// Hosts are the names and addresses for which a serving certificate is valid.
type Hosts struct {
	Names     []string
	Addresses []net.IP
}

// HostsOf returns the names of a Service in a cluster, and those of loopback for a service
// that runs outside it.
func HostsOf(service, namespace string) Hosts {
	return Hosts{
		Names: []string{
			service + "." + namespace + ".svc", service + "." + namespace + ".svc.cluster.local",
			service + "." + namespace, service, "localhost",
		},
		Addresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
}

// newAuthority creates a CA that is valid from now on.
func newAuthority(now time.Time, valid time.Duration) (*x509.Certificate, crypto.Signer, error) {
	key, id, err := newKey()
	if err != nil {
		return nil, nil, err
	}
	template, err := template(now, now.Add(valid))
	if err != nil {
		return nil, nil, err
	}
	// Names of two CAs differ, so that no client mistakes one for the other.
	template.Subject = pkix.Name{CommonName: "flotilla webhooks " + hex.EncodeToString(id[:4])}
	template.SubjectKeyId = id
	template.IsCA = true
	template.BasicConstraintsValid = true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	cert, err := sign(template, template, key.Public(), key)
	return cert, key, err
}

// crossSign cross-signs the new CA with the old one.
func crossSign(successor, old *x509.Certificate, by crypto.Signer) (*x509.Certificate, error) {
	template := *successor
	template.AuthorityKeyId = nil
	if template.NotAfter.After(old.NotAfter) {
		template.NotAfter = old.NotAfter
	}
	return sign(&template, old, successor.PublicKey, by)
}

// newServing creates a serving certificate, valid no longer than its CA.
func newServing(h Hosts, until, now time.Time, ca *x509.Certificate, by crypto.Signer) (*x509.Certificate, crypto.Signer, error) {
	key, _, err := newKey()
	if err != nil {
		return nil, nil, err
	}
	if until.After(ca.NotAfter) {
		until = ca.NotAfter
	}
	template, err := template(now, until)
	if err != nil {
		return nil, nil, err
	}
	template.Subject = pkix.Name{CommonName: "flotilla webhooks"}
	template.DNSNames, template.IPAddresses = h.Names, h.Addresses
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	template.BasicConstraintsValid = true
	cert, err := sign(template, ca, key.Public(), by)
	return cert, key, err
}

func newKey() (key *ecdsa.PrivateKey, id []byte, err error) {
	if key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, nil, fmt.Errorf("generate key: %w", err)
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return nil, nil, fmt.Errorf("encode public key: %w", err)
	}
	sum := sha256.Sum256(public)
	return key, sum[:20], nil
}

func template(now, until time.Time) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("generate serial number: %w", err)
	}
	return &x509.Certificate{SerialNumber: serial, NotBefore: now.Add(-skew), NotAfter: until}, nil
}

func sign(template, parent *x509.Certificate, public crypto.PublicKey, by crypto.Signer) (*x509.Certificate, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, by)
	if err != nil {
		return nil, fmt.Errorf("sign certificate: %w", err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("parse signed certificate: %w", err)
	}
	return cert, nil
}

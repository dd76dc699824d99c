package certs

import (
	"bytes"
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
)

// Keys of the Secret. The first two are those that every TLS Secret has.
const (
	keyServing      = "tls.crt" // the serving certificate, then the cross-signed certificates of its CA
	keyServingKey   = "tls.key"
	keyAuthority    = "ca.crt" // the CA that signs, then its predecessors until they expire
	keyAuthorityKey = "ca.key"
)

// Bundle is the content of the Secret.
type Bundle struct {
	// Authorities are the CAs that clients must trust; the first one signs.
	Authorities []*x509.Certificate
	// Chain is the certificate chain that the server presents, its own certificate first.
	Chain []*x509.Certificate

	authorityKey, servingKey crypto.Signer
}

// Parse reads the content of a Secret. The error names the unusable key.
func Parse(data map[string][]byte) (*Bundle, error) {
	b := &Bundle{}
	var err error
	if b.Authorities, err = parseCertificates(data, keyAuthority); err != nil {
		return nil, err
	}
	if b.authorityKey, err = parseKey(data, keyAuthorityKey, b.Authorities[0]); err != nil {
		return nil, err
	}
	if b.Chain, err = parseCertificates(data, keyServing); err != nil {
		return nil, err
	}
	if b.servingKey, err = parseKey(data, keyServingKey, b.Chain[0]); err != nil {
		return nil, err
	}
	return b, nil
}

// Data returns the data of the Secret.
func (b *Bundle) Data() (map[string][]byte, error) {
	authorityKey, err := encodeKey(b.authorityKey)
	if err != nil {
		return nil, err
	}
	servingKey, err := encodeKey(b.servingKey)
	if err != nil {
		return nil, err
	}
	return map[string][]byte{
		keyAuthority: encode(b.Authorities), keyAuthorityKey: authorityKey,
		keyServing: encode(b.Chain), keyServingKey: servingKey,
	}, nil
}

// CABundle returns the CAs that clients must trust, for the caBundle of a webhook configuration.
func (b *Bundle) CABundle() []byte { return encode(b.Authorities) }

// Certificate returns the chain that the server presents, and its key.
func (b *Bundle) Certificate() *tls.Certificate {
	c := &tls.Certificate{PrivateKey: b.servingKey, Leaf: b.Chain[0]}
	for _, cert := range b.Chain {
		c.Certificate = append(c.Certificate, cert.Raw)
	}
	return c
}

func encode(certificates []*x509.Certificate) []byte {
	var out bytes.Buffer
	for _, c := range certificates {
		out.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw}))
	}
	return out.Bytes()
}

func encodeKey(key crypto.Signer) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

func parseCertificates(data map[string][]byte, name string) ([]*x509.Certificate, error) {
	var out []*x509.Certificate
	remaining := data[name]
	for {
		var block *pem.Block
		if block, remaining = pem.Decode(remaining); block == nil {
			break
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("%s holds no certificate: %w", name, err)
		}
		out = append(out, c)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s holds no certificate", name)
	}
	return out, nil
}

// parseKey reads a private key and checks that it is the certificate's. Errors of the
// parser are not repeated: no part of a key may reach a log.
func parseKey(data map[string][]byte, name string, of *x509.Certificate) (crypto.Signer, error) {
	block, _ := pem.Decode(data[name])
	if block == nil {
		return nil, fmt.Errorf("%s holds no private key", name)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	signer, ok := parsed.(crypto.Signer)
	if err != nil || !ok {
		return nil, fmt.Errorf("%s holds no private key", name)
	}
	public, ok := signer.Public().(interface{ Equal(crypto.PublicKey) bool })
	if !ok || !public.Equal(of.PublicKey) {
		return nil, errors.New(name + " is the key of another certificate")
	}
	return signer, nil
}

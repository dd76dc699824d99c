package certs

import (
	"crypto/x509"
	"fmt"
	"slices"
	"time"
)

// Renew returns the desired bundle, and why it differs from b. If nothing needs renewal,
// it returns b itself and an empty reason. For a nil b it creates a new bundle.
func Renew(b *Bundle, h Hosts, l Lifetimes, now time.Time) (next *Bundle, reason string, err error) {
	if b == nil {
		next, err = newBundle(h, l, now)
		return next, "there is no certificate yet", err
	}
	if needsRenewal(b.Authorities[0], l.Authority, now) {
		next, err = rotateCA(b, h, l, now)
		return next, "the CA expires on " + date(b.Authorities[0]), err
	}
	if reason = reissueReason(b, h, l, now); reason != "" {
		next = &Bundle{Authorities: unexpired(b.Authorities, now), authorityKey: b.authorityKey}
		err = next.serve(h, l, now, crossSigned(b, now))
		return next, reason, err
	}
	if trusted := unexpired(b.Authorities, now); len(trusted) < len(b.Authorities) {
		next := *b
		next.Authorities = trusted
		return &next, "a former CA has expired", nil
	}
	return b, "", nil
}

// newBundle creates a bundle that no client trusts yet.
func newBundle(h Hosts, l Lifetimes, now time.Time) (*Bundle, error) {
	ca, key, err := newAuthority(now, l.Authority)
	if err != nil {
		return nil, err
	}
	b := &Bundle{Authorities: []*x509.Certificate{ca}, authorityKey: key}
	return b, b.serve(h, l, now, nil)
}

// rotateCA creates a new CA, cross-signed by the current one. It discards the former key;
// the former certificate stays trusted while another replica may still serve a
// certificate that it signed.
func rotateCA(b *Bundle, h Hosts, l Lifetimes, now time.Time) (*Bundle, error) {
	next, err := newBundle(h, l, now)
	if err != nil {
		return nil, err
	}
	old := b.Authorities[0]
	next.Authorities = append(next.Authorities, unexpired(b.Authorities, now)...)
	if !valid(old, now) {
		return next, nil
	}
	cross, err := crossSign(next.Authorities[0], old, b.authorityKey)
	if err != nil {
		return nil, err
	}
	next.Chain = append(next.Chain, cross)
	return next, nil
}

// serve creates a new serving certificate.
func (b *Bundle) serve(h Hosts, l Lifetimes, now time.Time, chain []*x509.Certificate) error {
	leaf, key, err := newServing(h, now.Add(l.Serving), now, b.Authorities[0], b.authorityKey)
	if err != nil {
		return err
	}
	b.Chain, b.servingKey = append([]*x509.Certificate{leaf}, chain...), key
	return nil
}

// reissueReason returns why the serving certificate must be replaced.
func reissueReason(b *Bundle, h Hosts, l Lifetimes, now time.Time) string {
	leaf := b.Chain[0]
	switch {
	case needsRenewal(leaf, l.Serving, now):
		return "the serving certificate expires on " + date(leaf)
	case leaf.CheckSignatureFrom(b.Authorities[0]) != nil:
		return "the serving certificate is signed by another CA"
	}
	for _, name := range h.Names {
		if !slices.Contains(leaf.DNSNames, name) {
			return fmt.Sprintf("the serving certificate is not for %s", name)
		}
	}
	for _, address := range h.Addresses {
		if !slices.ContainsFunc(leaf.IPAddresses, address.Equal) {
			return fmt.Sprintf("the serving certificate is not for %s", address)
		}
	}
	return ""
}

// needsRenewal reports whether less than a third of the lifetime is left, or it has not begun.
func needsRenewal(c *x509.Certificate, lifetime time.Duration, now time.Time) bool {
	return now.Before(c.NotBefore) || c.NotAfter.Sub(now) < lifetime/3
}

func valid(c *x509.Certificate, now time.Time) bool {
	return !now.Before(c.NotBefore) && now.Before(c.NotAfter)
}

// unexpired returns the CAs that have not expired.
func unexpired(all []*x509.Certificate, now time.Time) []*x509.Certificate {
	return slices.DeleteFunc(slices.Clone(all), func(c *x509.Certificate) bool { return !now.Before(c.NotAfter) })
}

// crossSigned returns the cross-signed certificates of former CAs for the current one that are still valid.
func crossSigned(b *Bundle, now time.Time) []*x509.Certificate {
	return slices.DeleteFunc(slices.Clone(b.Chain[1:]), func(c *x509.Certificate) bool {
		return !valid(c, now) || !slices.Equal(c.SubjectKeyId, b.Authorities[0].SubjectKeyId)
	})
}

func date(c *x509.Certificate) string { return c.NotAfter.UTC().Format(time.RFC3339) }

package certs

import (
	"crypto/x509"
	"net"
	"strings"
	"testing"
	"time"
)

var (
	start     = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	hosts     = HostsOf("webhook", "system")
	lifetimes = Lifetimes{Authority: 300 * 24 * time.Hour, Serving: 90 * 24 * time.Hour}
)

const day = 24 * time.Hour

func renew(t *testing.T, b *Bundle, now time.Time) (next *Bundle, reason string) {
	t.Helper()
	next, reason, err := Renew(b, hosts, lifetimes, now)
	if err != nil {
		t.Fatal(err)
	}
	return next, reason
}

// accepts returns an error unless a client that trusts one bundle accepts the chain of the other.
func accepts(client, serving *Bundle, host string, now time.Time) error {
	roots, intermediates := x509.NewCertPool(), x509.NewCertPool()
	roots.AppendCertsFromPEM(client.CABundle())
	for _, c := range serving.Chain[1:] {
		intermediates.AddCert(c)
	}
	_, err := serving.Chain[0].Verify(x509.VerifyOptions{DNSName: host, Roots: roots, Intermediates: intermediates, CurrentTime: now})
	return err
}

func TestNewBundleIsValidForServiceNames(t *testing.T) {
	b, reason := renew(t, nil, start)
	if reason == "" {
		t.Error("no reason for a bundle that is new")
	}
	for _, host := range []string{"webhook", "webhook.system", "webhook.system.svc", "webhook.system.svc.cluster.local", "localhost", "127.0.0.1", "::1"} {
		if err := accepts(b, b, host, start); err != nil {
			t.Errorf("%s: %v", host, err)
		}
	}
	if accepts(b, b, "webhook.other.svc", start) == nil {
		t.Error("the Service of another namespace is accepted")
	}
	foreign, _ := renew(t, nil, start)
	if accepts(foreign, b, "localhost", start) == nil {
		t.Error("a client that trusts another CA accepts it")
	}
}

func TestRenewKeepsValidBundle(t *testing.T) {
	b, _ := renew(t, nil, start)
	for _, age := range []time.Duration{0, day, 59 * day} {
		if next, reason := renew(t, b, start.Add(age)); next != b || reason != "" {
			t.Errorf("after %s: %s", age, reason)
		}
	}
}

func TestRenewKeepsCAForServingCertificate(t *testing.T) {
	b, _ := renew(t, nil, start)
	now := start.Add(61 * day)
	next, reason := renew(t, b, now)
	if !strings.Contains(reason, "serving certificate expires on 2026-04-01T00:00:00Z") {
		t.Errorf("reason %q", reason)
	}
	if !next.Authorities[0].Equal(b.Authorities[0]) || next.Chain[0].Equal(b.Chain[0]) {
		t.Error("want the old CA and a new serving certificate")
	}
	if err := accepts(b, next, "localhost", now); err != nil {
		t.Error(err)
	}
}

// TestRenewKeepsOldAndNewCertificatesTrusted walks through three years, a day at a time. At
// each change replicas may still serve, and webhook configurations still trust, what was
// in place before it.
func TestRenewKeepsOldAndNewCertificatesTrusted(t *testing.T) {
	was, _ := renew(t, nil, start)
	authorities := 0
	for age := time.Duration(0); age < 3*365*day; age += day {
		now := start.Add(age)
		is, reason := renew(t, was, now)
		for name, err := range map[string]error{
			"new client, new server": accepts(is, is, "localhost", now),
			"old client, new server": accepts(was, is, "localhost", now),
			"new client, old server": accepts(is, was, "localhost", now),
		} {
			if err != nil {
				t.Fatalf("day %d (%s): %s: %v", age/day, reason, name, err)
			}
		}
		if !is.Authorities[0].Equal(was.Authorities[0]) {
			authorities++
			if len(is.Authorities) != 2 || !is.Authorities[1].Equal(was.Authorities[0]) {
				t.Errorf("day %d: %d CAs are trusted, want the new and the old one", age/day, len(is.Authorities))
			}
		}
		was = is
	}
	if authorities != 5 {
		t.Errorf("%d rotations of the CA in 1095 days, want 5: one each 200 or 201 days", authorities)
	}
}

func TestFormerCAIsTrustedUntilExpiry(t *testing.T) {
	b, _ := renew(t, nil, start)
	b, _ = renew(t, b, start.Add(201*day))
	b, _ = renew(t, b, start.Add(299*day)) // a serving certificate in between
	if len(b.Authorities) != 2 {
		t.Fatalf("%d CAs before the first one expires, want 2", len(b.Authorities))
	}
	b, reason := renew(t, b, start.Add(301*day))
	if len(b.Authorities) != 1 || reason == "" {
		t.Errorf("%d CAs after the first one expired (%q), want 1", len(b.Authorities), reason)
	}
	if _, reason := renew(t, b, start.Add(301*day)); reason != "" {
		t.Errorf("changed again: %s", reason)
	}
}

func TestRenewReplacesExpiredBundle(t *testing.T) {
	b, _ := renew(t, nil, start)
	now := start.Add(1000 * day)
	b, _ = renew(t, b, now)
	if err := accepts(b, b, "localhost", now); err != nil {
		t.Error(err)
	}
	if len(b.Authorities) != 1 || len(b.Chain) != 1 {
		t.Errorf("%d CAs, chain of %d: expired certificates are kept", len(b.Authorities), len(b.Chain))
	}
}

func TestRenewReplacesCertificateForChangedHosts(t *testing.T) {
	b, _ := renew(t, nil, start)
	cases := map[string]Hosts{
		"another Service":    HostsOf("other", "system"),
		"another namespace":  HostsOf("webhook", "other"),
		"a further address":  {Names: hosts.Names, Addresses: []net.IP{net.IPv4(10, 0, 0, 1)}},
		"fewer names, still": {Names: hosts.Names[:1]},
	}
	for name, h := range cases {
		next, reason, err := Renew(b, h, lifetimes, start)
		if err != nil {
			t.Fatal(err)
		}
		if changed := next != b; changed != !strings.Contains(name, "fewer") || changed != (reason != "") {
			t.Errorf("%s: changed %t, reason %q", name, changed, reason)
		}
	}
}

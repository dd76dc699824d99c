package certs

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func data(t *testing.T, b *Bundle) map[string][]byte {
	t.Helper()
	d, err := b.Data()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestBundleRoundTripsThroughSecret(t *testing.T) {
	b, _ := renew(t, nil, start)
	b, _ = renew(t, b, start.Add(201*day)) // two CAs, a chain of two
	read, err := Parse(data(t, b))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(data(t, b), data(t, read)); diff != "" {
		t.Error(diff)
	}
	if got := len(read.Certificate().Certificate); got != 2 {
		t.Errorf("a chain of %d certificates is served, want 2", got)
	}
	if next, reason := renew(t, read, start.Add(201*day)); reason != "" || next != read {
		t.Errorf("renewed after reading: %s", reason)
	}
}

func TestParseErrorNamesKeyWithoutContent(t *testing.T) {
	bundle, _ := renew(t, nil, start)
	other, _ := renew(t, nil, start)
	validData, foreign := data(t, bundle), data(t, other)
	cases := map[string]struct {
		key   string
		value []byte
	}{
		"no authority":                   {"ca.crt", nil},
		"text for an authority":          {"ca.crt", []byte("hush hush")},
		"a key for an authority":         {"ca.crt", validData["ca.key"]},
		"no key of the authority":        {"ca.key", nil},
		"text for a key":                 {"ca.key", []byte("hush hush")},
		"a certificate for a key":        {"ca.key", validData["ca.crt"]},
		"the key of another authority":   {"ca.key", foreign["ca.key"]},
		"no serving certificate":         {"tls.crt", nil},
		"half a serving certificate":     {"tls.crt", validData["tls.crt"][:100]},
		"no serving key":                 {"tls.key", nil},
		"the key of another certificate": {"tls.key", foreign["tls.key"]},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			invalidData := maps.Clone(validData)
			invalidData[tc.key] = tc.value
			_, err := Parse(invalidData)
			if err == nil || !strings.Contains(err.Error(), tc.key) {
				t.Fatalf("error %v does not name %s", err, tc.key)
			}
			if strings.Contains(err.Error(), "hush") {
				t.Errorf("error %v repeats the content", err)
			}
		})
	}
}

package authority_test

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/flotilla-dev/flotilla/libs/testkit/authority"
)

// A server and a client of the authority accept each other; the server rejects the client without its certificate.
func TestCertificatesAreValidForServerAndClient(t *testing.T) {
	dir := t.TempDir()
	signer, err := authority.New("tests", time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	for name, subject := range map[string]authority.Subject{
		"server": {User: "kube-apiserver", Hosts: []string{"127.0.0.1", "kubernetes.default.svc"}},
		"client": {User: "tester", Groups: []string{"system:masters"}},
	} {
		pair, err := signer.Issue(subject)
		if err != nil {
			t.Fatal(err)
		}
		if err := pair.Write(dir, name); err != nil {
			t.Fatal(err)
		}
	}
	pool := signer.Pool()
	load := func(name string) tls.Certificate {
		cert, err := tls.LoadX509KeyPair(filepath.Join(dir, name+".crt"), filepath.Join(dir, name+".key"))
		if err != nil {
			t.Fatal(err)
		}
		return cert
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		subject := r.TLS.PeerCertificates[0].Subject
		w.Header().Set("Who", subject.CommonName+" of "+subject.Organization[0])
	}))
	server.TLS = &tls.Config{
		Certificates: []tls.Certificate{load("server")}, ClientCAs: pool,
		ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS13,
	}
	server.StartTLS()
	t.Cleanup(server.Close)

	get := func(certificates ...tls.Certificate) (*http.Response, error) {
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{
			RootCAs: pool, Certificates: certificates, MinVersion: tls.VersionTLS13,
		}}}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, http.NoBody)
		if err != nil {
			return nil, err
		}
		return client.Do(r)
	}
	resp, err := get(load("client"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if who := resp.Header.Get("Who"); who != "tester of system:masters" {
		t.Errorf("the client is %q", who)
	}
	if resp, err := get(); err == nil {
		resp.Body.Close()
		t.Error("a client without a certificate was accepted")
	}
}

package bootstrap

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nkeys"
	"github.com/spf13/pflag"

	"github.com/flotilla-dev/flotilla/libs/kube/service"
	"github.com/flotilla-dev/flotilla/libs/testkit/natstest"
	"github.com/flotilla-dev/flotilla/libs/testkit/natstest/natstls"
)

// The command uses the certificate and the key of its flags, with a server
// that rejects all others.
func TestCommandUsesCertificateAndKey(t *testing.T) {
	user, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	public, err := user.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	secret, err := user.Seed()
	if err != nil {
		t.Fatal(err)
	}
	seed := filepath.Join(t.TempDir(), "nkey")
	if err := os.WriteFile(seed, secret, 0o600); err != nil {
		t.Fatal(err)
	}
	authority := natstls.New(t)
	srv := natstest.Start(t, authority.Require(), func(o *natstest.Options) {
		o.Nkeys = []*natstest.NkeyUser{{Nkey: public}}
	})
	files := authority.Client(t, t.TempDir(), "bootstrap")
	complete := service.Options{NATSURL: srv.URL(), NATSNKey: seed, NATSCA: files.CA, NATSCert: files.Cert, NATSKey: files.Key}
	tests := map[string]struct {
		change func(*service.Options)
		want   string // part of the error; empty: none
	}{
		"all of it":         {func(*service.Options) {}, ""},
		"no key":            {func(o *service.Options) { o.NATSNKey = "" }, "connect to the bus"},
		"no certificate":    {func(o *service.Options) { o.NATSCert, o.NATSKey = "", "" }, "connect to the bus"},
		"half of one":       {func(o *service.Options) { o.NATSKey = "" }, "--nats-key (FLOTILLA_NATS_KEY) is needed with the certificate"},
		"a file is missing": {func(o *service.Options) { o.NATSNKey = "/nonexistent" }, "--nats-nkey (FLOTILLA_NATS_NKEY) open /nonexistent"},
		"no server":         {func(o *service.Options) { o.NATSURL = "" }, "--nats-url (FLOTILLA_NATS_URL) is required"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // a failing connection is retried for a while
			o := complete
			tc.change(&o)
			f := &flags{}
			f.add(pflag.NewFlagSet("test", pflag.ContinueOnError))
			err := f.run(t.Context(), o, []string{"bootstrap"}, &bytes.Buffer{})
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

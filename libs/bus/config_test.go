package bus_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/libs/testkit/natstest"
	"github.com/flotilla-dev/flotilla/libs/testkit/natstest/natstls"
)

func (c client) wantConnected(t *testing.T, reconnects float64) {
	t.Helper()
	eventually(t, func() error {
		if n := c.metric(t, "flotilla_bus_reconnects_total"); !c.Connected() || n < reconnects {
			return fmt.Errorf("connected %v after %v reconnects, last error: %w", c.Connected(), n, c.JetStream().Conn().LastError())
		}
		return nil
	})
}

// wantRefused waits until the server has rejected the client.
func (c client) wantRefused(t *testing.T) {
	t.Helper()
	eventually(t, func() error {
		if err := c.JetStream().Conn().LastError(); c.Connected() || err == nil {
			return fmt.Errorf("connected %v, last error: %w", c.Connected(), err)
		}
		return nil
	})
}

func open(t *testing.T, cfg bus.Config) client {
	t.Helper()
	reg := prometheus.NewRegistry()
	cfg.Name, cfg.Registerer = "tester", reg
	conn, err := bus.Connect(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeNow(t, conn) })
	return client{conn, reg}
}

// The server requires client certificates; then the CA of both certificates changes.
func TestConnReloadsCertificates(t *testing.T) {
	authority := natstls.New(t)
	srv := natstest.Start(t, authority.Require())
	dir := t.TempDir()
	files := authority.Client(t, dir, "tester")
	open(t, bus.Config{URL: srv.URL(), TLS: bus.TLS{CAFile: files.CA}}).wantRefused(t)
	c := open(t, bus.Config{URL: srv.URL(), TLS: bus.TLS{CAFile: files.CA, CertFile: files.Cert, KeyFile: files.Key}})
	c.wantConnected(t, 0)

	authority.Renew(t)
	srv.Stop()
	srv.Start()
	c.wantRefused(t)
	authority.Client(t, dir, "tester")
	c.wantConnected(t, 1)
}

func newUser(t *testing.T) (nkeys.KeyPair, string) {
	t.Helper()
	pair, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	key, err := pair.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	return pair, key
}

func seed(t *testing.T, pair nkeys.KeyPair) []byte {
	t.Helper()
	raw, err := pair.Seed()
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func write(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// The server replaces the key of a user: the client reconnects with the key that its file
// contains by then.
func TestConnReloadsNKeys(t *testing.T) {
	first, firstKey := newUser(t)
	second, secondKey := newUser(t)
	var allowed []*server.NkeyUser
	srv := natstest.Start(t, func(o *server.Options) {
		o.Nkeys = []*server.NkeyUser{{Nkey: firstKey}}
		allowed = o.Nkeys
	})
	file := filepath.Join(t.TempDir(), "nkey")
	write(t, file, seed(t, first))
	c := open(t, bus.Config{URL: srv.URL(), NKeyFile: file})
	c.wantConnected(t, 0)

	allowed[0].Nkey = secondKey
	srv.Stop()
	srv.Start()
	c.wantRefused(t)
	write(t, file, append(seed(t, second), '\n'))
	c.wantConnected(t, 1)
}

// issuer signs the credentials of one account.
type issuer struct {
	operator, account nkeys.KeyPair
}

func newIssuer(t *testing.T) issuer {
	t.Helper()
	operator, err := nkeys.CreateOperator()
	if err != nil {
		t.Fatal(err)
	}
	account, err := nkeys.CreateAccount()
	if err != nil {
		t.Fatal(err)
	}
	return issuer{operator, account}
}

// require makes a server trust the operator and accept the account.
func (i issuer) require(t *testing.T) natstest.Option {
	t.Helper()
	trusted, err := i.operator.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	key, err := i.account.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	token, err := jwt.NewAccountClaims(key).Encode(i.operator)
	if err != nil {
		t.Fatal(err)
	}
	resolver := &server.MemAccResolver{}
	if err := resolver.Store(key, token); err != nil {
		t.Fatal(err)
	}
	return func(o *server.Options) {
		o.JetStream = false // would need a system account
		o.TrustedKeys, o.AccountResolver = []string{trusted}, resolver
	}
}

// creds returns the credentials of a new user; they expire at the given time.
func (i issuer) creds(t *testing.T, expires time.Time) []byte {
	t.Helper()
	pair, key := newUser(t)
	claims := jwt.NewUserClaims(key)
	claims.Expires = expires.Unix()
	token, err := claims.Encode(i.account)
	if err != nil {
		t.Fatal(err)
	}
	out, err := jwt.FormatUserConfig(token, seed(t, pair))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Credentials expire while they are in use: the server rejects the client, which retries
// and reconnects with the credentials that the file contains by then.
func TestConnReloadsExpiredCredentials(t *testing.T) {
	i := newIssuer(t)
	srv := natstest.Start(t, i.require(t))
	file := filepath.Join(t.TempDir(), "creds")
	const soon = 3 * time.Second
	write(t, file, i.creds(t, time.Now().Add(soon)))
	c := open(t, bus.Config{URL: srv.URL(), CredsFile: file})
	c.wantConnected(t, 0)

	eventually(t, func() error {
		if err := c.JetStream().Conn().LastError(); c.Connected() || !errors.Is(err, nats.ErrAuthorization) && !errors.Is(err, nats.ErrAuthExpired) {
			return fmt.Errorf("connected %v, last error: %w", c.Connected(), err)
		}
		return nil
	})
	write(t, file, i.creds(t, time.Now().Add(time.Hour)))
	c.wantConnected(t, 1)
}

// An error names the file and never quotes its content.
func TestCheckNamesInvalidFile(t *testing.T) {
	dir := t.TempDir()
	invalid := filepath.Join(dir, "garbage")
	write(t, invalid, []byte("hunter2"))
	account, err := nkeys.CreateAccount()
	if err != nil {
		t.Fatal(err)
	}
	wrong := filepath.Join(dir, "account")
	write(t, wrong, seed(t, account))
	files := natstls.New(t).Client(t, dir, "tester")
	const missing = "/nonexistent"
	tests := map[string]struct {
		cfg  bus.Config
		want string
	}{
		"valid files":                       {bus.Config{TLS: bus.TLS{CAFile: files.CA, CertFile: files.Cert, KeyFile: files.Key}}, ""},
		"missing credentials":               {bus.Config{CredsFile: missing}, "credentials of the bus: open /nonexistent: no such file or directory"},
		"invalid credentials":               {bus.Config{CredsFile: invalid}, "credentials of the bus: " + invalid + " holds no user's credentials"},
		"missing NKey":                      {bus.Config{NKeyFile: missing}, "NKey of the bus: open /nonexistent: no such file or directory"},
		"an invalid NKey":                   {bus.Config{NKeyFile: invalid}, "NKey of the bus: " + invalid + " holds no seed of a user"},
		"an NKey of an account":             {bus.Config{NKeyFile: wrong}, "NKey of the bus: " + wrong + " holds no seed of a user"},
		"invalid CAs":                       {bus.Config{TLS: bus.TLS{CAFile: invalid}}, "authorities of the bus: " + invalid + " holds no PEM certificate"},
		"missing certificate":               {bus.Config{TLS: bus.TLS{CertFile: missing, KeyFile: files.Key}}, "certificate of the bus: open /nonexistent: no such file or directory"},
		"missing key of the certificate":    {bus.Config{TLS: bus.TLS{CertFile: files.Cert, KeyFile: missing}}, "certificate's key of the bus: stat /nonexistent: no such file or directory"},
		"an invalid key of the certificate": {bus.Config{TLS: bus.TLS{CertFile: files.Cert, KeyFile: invalid}}, "certificate of the bus: tls: failed to find any PEM data in key input"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := ""
			if err := tc.cfg.Check(); err != nil {
				got = err.Error()
			}
			if got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

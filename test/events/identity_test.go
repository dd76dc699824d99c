package events

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/natstest"
	"github.com/flotilla-dev/flotilla/libs/testkit/natstest/busauth"
)

func must[T any](t *testing.T) func(T, error) T {
	t.Helper()
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// authority is a NATS operator with one account for the bus, like nsc creates them.
type authority struct {
	t       *testing.T
	account nkeys.KeyPair
	opts    natstest.Option
}

func newAuthority(t *testing.T) authority {
	t.Helper()
	key, text := must[nkeys.KeyPair](t), must[string](t)
	operator, account, system := key(nkeys.CreateOperator()), key(nkeys.CreateAccount()), key(nkeys.CreateAccount())
	accounts := &server.MemAccResolver{}
	for pair, jetStream := range map[nkeys.KeyPair]bool{account: true, system: false} {
		public := text(pair.PublicKey())
		claims := jwt.NewAccountClaims(public)
		if jetStream {
			claims.Limits.JetStreamLimits = jwt.JetStreamLimits{MemoryStorage: jwt.NoLimit, DiskStorage: jwt.NoLimit, Streams: jwt.NoLimit, Consumer: jwt.NoLimit}
		}
		if err := accounts.Store(public, text(claims.Encode(operator))); err != nil {
			t.Fatal(err)
		}
	}
	trusted := jwt.NewOperatorClaims(text(operator.PublicKey()))
	trusted.SystemAccount = text(system.PublicKey())
	trusted = must[*jwt.OperatorClaims](t)(jwt.DecodeOperatorClaims(text(trusted.Encode(operator))))
	return authority{t: t, account: account, opts: func(o *server.Options) {
		o.TrustedOperators = []*jwt.OperatorClaims{trusted}
		o.AccountResolver = accounts
		o.SystemAccount = trusted.SystemAccount
	}}
}

// creds writes a credentials file for a user. If the permissions are nil, the user has all.
func (a authority) creds(p *server.Permissions) string {
	a.t.Helper()
	text := must[string](a.t)
	user := must[nkeys.KeyPair](a.t)(nkeys.CreateUser())
	claims := jwt.NewUserClaims(text(user.PublicKey()))
	if p != nil {
		claims.Pub.Allow.Add(p.Publish.Allow...)
		claims.Sub.Allow.Add(p.Subscribe.Allow...)
	}
	seed := must[[]byte](a.t)(user.Seed())
	content := must[[]byte](a.t)(jwt.FormatUserConfig(text(claims.Encode(a.account)), seed))
	file := filepath.Join(a.t.TempDir(), "user.creds")
	if err := os.WriteFile(file, content, 0o600); err != nil {
		a.t.Fatal(err)
	}
	return file
}

// The permissions of the configuration files have the same effect in a user JWT, which
// services read from a credentials file.
func TestCredentialsFileGrantsSamePermissions(t *testing.T) {
	a := newAuthority(t)
	srv := natstest.Start(t, a.opts)
	connect := func(name, creds string) *bus.Conn {
		t.Helper()
		conn := must[*bus.Conn](t)(bus.Connect(bus.Config{URL: srv.URL(), Name: name, CredsFile: creds}))
		t.Cleanup(func() {
			if err := conn.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
		expect.Eventually(t, expect.Long, func() error {
			if !conn.Connected() {
				return fmt.Errorf("not connected: %w", conn.JetStream().Conn().LastError())
			}
			return nil
		})
		return conn
	}
	admin := connect("admin", a.creds(nil))
	bootstrap := connect("bootstrap", a.creds(busauth.Permissions(t, names, "bootstrap")))
	if err := bus.Bootstrap(t.Context(), bootstrap.JetStream(), bus.DefaultParams()); err != nil {
		t.Fatal(err)
	}
	makeConsumer(t, bootstrap.JetStream(), contract.StreamLifecycle, "pager", "flotilla.lifecycle.v1.prod.team-a.>")
	if _, err := admin.JetStream().Publish(t.Context(), "flotilla.lifecycle.v1.prod.team-a.superset.main.phase", []byte("a")); err != nil {
		t.Fatal(err)
	}
	pager := connect("pager", a.creds(busauth.Permissions(t, names, "pager"))).JetStream()
	consumer, err := pager.Consumer(t.Context(), contract.StreamLifecycle, "pager")
	if err != nil {
		t.Fatal(err)
	}
	if m, err := consumer.Next(); err != nil || string(m.Data()) != "a" || m.DoubleAck(t.Context()) != nil {
		t.Errorf("read %v, %v", m, err)
	}
	for _, attempt := range forbidden()["pager"] {
		if err := refused(pager.Conn(), attempt); err != nil {
			t.Errorf("%s: %v", attempt.name, err)
		}
	}
}

// The permissions are the same with an NKey in place of a password.
func TestNKeyGrantsSamePermissions(t *testing.T) {
	pair := must[nkeys.KeyPair](t)(nkeys.CreateUser())
	public := must[string](t)(pair.PublicKey())
	rights := busauth.Permissions(t, names, "pager")
	srv := natstest.Start(t, func(o *server.Options) {
		o.Nkeys = []*server.NkeyUser{{Nkey: public, Permissions: rights}}
	})
	nc, err := nats.Connect(srv.URL(), nats.Nkey(public, pair.Sign), nats.CustomInboxPrefix("_INBOX_pager"),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	for _, attempt := range forbidden()["pager"] {
		if err := refused(nc, attempt); err != nil {
			t.Errorf("%s: %v", attempt.name, err)
		}
	}
}

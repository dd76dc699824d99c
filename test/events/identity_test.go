package events

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
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

// authority is a NATS operator with the account of the streams and that of a tool, like nsc creates them.
type authority struct {
	t                       *testing.T
	operator, streams, tool nkeys.KeyPair
	opts                    natstest.Option
}

// newAuthority imports the subjects of the permissions into the account of the tool.
func newAuthority(t *testing.T, p *server.Permissions) authority {
	t.Helper()
	key, text := must[nkeys.KeyPair](t), must[string](t)
	a := authority{
		t: t, operator: key(nkeys.CreateOperator()), streams: key(nkeys.CreateAccount()), tool: key(nkeys.CreateAccount()),
	}
	streams, tool := jwt.NewAccountClaims(text(a.streams.PublicKey())), jwt.NewAccountClaims(text(a.tool.PublicKey()))
	streams.Limits.JetStreamLimits = jwt.JetStreamLimits{MemoryStorage: jwt.NoLimit, DiskStorage: jwt.NoLimit, Streams: jwt.NoLimit, Consumer: jwt.NoLimit}
	for _, subject := range append([]string{"$JS.API.INFO"}, p.Publish.Allow...) {
		a.share(streams, tool, jwt.Service, subject)
	}
	for _, subject := range p.Subscribe.Allow {
		if !strings.HasPrefix(subject, "_INBOX") {
			a.share(streams, tool, jwt.Stream, subject)
		}
	}
	system := jwt.NewAccountClaims(text(key(nkeys.CreateAccount()).PublicKey()))
	accounts := &server.MemAccResolver{}
	for _, claims := range []*jwt.AccountClaims{streams, tool, system} {
		if err := accounts.Store(claims.Subject, text(claims.Encode(a.operator))); err != nil {
			t.Fatal(err)
		}
	}
	trusted := jwt.NewOperatorClaims(text(a.operator.PublicKey()))
	trusted.SystemAccount = system.Subject
	trusted = must[*jwt.OperatorClaims](t)(jwt.DecodeOperatorClaims(text(trusted.Encode(a.operator))))
	a.opts = func(o *server.Options) {
		o.TrustedOperators = []*jwt.OperatorClaims{trusted}
		o.AccountResolver = accounts
		o.SystemAccount = trusted.SystemAccount
	}
	return a
}

// share exports a subject to no account but the one that has the activation token, and imports it there.
func (a authority) share(from, to *jwt.AccountClaims, kind jwt.ExportType, subject string) {
	a.t.Helper()
	export := &jwt.Export{Subject: jwt.Subject(subject), Type: kind, TokenReq: true}
	if strings.Contains(subject, ".MSG.NEXT.") {
		export.ResponseType = jwt.ResponseTypeStream
	}
	from.Exports.Add(export)
	activation := jwt.NewActivationClaims(to.Subject)
	activation.ImportSubject, activation.ImportType = jwt.Subject(subject), kind
	token := must[string](a.t)(activation.Encode(a.streams))
	to.Imports.Add(&jwt.Import{Subject: jwt.Subject(subject), Account: from.Subject, Token: token, Type: kind})
}

// creds writes a credentials file for a user of an account. If the permissions are nil, the user has all.
func (a authority) creds(account nkeys.KeyPair, p *server.Permissions) string {
	a.t.Helper()
	text := must[string](a.t)
	user := must[nkeys.KeyPair](a.t)(nkeys.CreateUser())
	claims := jwt.NewUserClaims(text(user.PublicKey()))
	if p != nil {
		claims.Pub.Allow.Add(p.Publish.Allow...)
		claims.Sub.Allow.Add(p.Subscribe.Allow...)
	}
	seed := must[[]byte](a.t)(user.Seed())
	content := must[[]byte](a.t)(jwt.FormatUserConfig(text(claims.Encode(account)), seed))
	file := filepath.Join(a.t.TempDir(), "user.creds")
	if err := os.WriteFile(file, content, 0o600); err != nil {
		a.t.Fatal(err)
	}
	return file
}

// The accounts and permissions of the configuration files have the same effect as JWTs. Services read that of their user
// from a credentials file.
func TestCredentialsFileGrantsSamePermissions(t *testing.T) {
	rights := busauth.Permissions(t, names, "pager")
	a := newAuthority(t, rights)
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
	admin := connect("admin", a.creds(a.streams, nil))
	bootstrap := connect("bootstrap", a.creds(a.streams, busauth.Permissions(t, names, "bootstrap")))
	if err := bus.Bootstrap(t.Context(), bootstrap.JetStream(), bus.DefaultParams()); err != nil {
		t.Fatal(err)
	}
	makeConsumer(t, bootstrap.JetStream(), contract.StreamLifecycle, "pager", "flotilla.lifecycle.v1.prod.team-a.>")
	if _, err := admin.JetStream().Publish(t.Context(), "flotilla.lifecycle.v1.prod.team-a.superset.main.phase", []byte("a")); err != nil {
		t.Fatal(err)
	}
	pager := connect("pager", a.creds(a.tool, rights)).JetStream()
	consumer, err := pager.Consumer(t.Context(), contract.StreamLifecycle, "pager")
	if err != nil {
		t.Fatal(err)
	}
	if m, err := consumer.Next(); err != nil || string(m.Data()) != "a" || m.DoubleAck(t.Context()) != nil {
		t.Errorf("read %v, %v", m, err)
	}
	const target = "flotilla.lifecycle.v1.prod.team-b.superset.main.deleted"
	for _, grant := range rights.Publish.Allow {
		if err := pager.Conn().PublishRequest(literal(grant), target, nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, attempt := range forbidden()["pager"] {
		if err := refused(pager.Conn(), attempt); err != nil {
			t.Errorf("%s: %v", attempt.name, err)
		}
	}
	stream, err := admin.JetStream().Stream(t.Context(), contract.StreamLifecycle)
	if err != nil {
		t.Fatal(err)
	}
	if m, err := stream.GetLastMsgForSubject(t.Context(), target); !errors.Is(err, jetstream.ErrMsgNotFound) {
		t.Errorf("a reply stored %v, %v", m, err)
	}
}

// The permissions are the same with an NKey in place of a password.
func TestNKeyGrantsSamePermissions(t *testing.T) {
	pair := must[nkeys.KeyPair](t)(nkeys.CreateUser())
	public := must[string](t)(pair.PublicKey())
	srv := busauth.Start(t, names, func(o *server.Options) {
		for _, u := range o.Users {
			if u.Username == "pager" {
				o.Nkeys = []*server.NkeyUser{{Nkey: public, Permissions: u.Permissions, Account: u.Account}}
			}
		}
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

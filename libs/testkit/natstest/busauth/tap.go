package busauth

import (
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// Tap receives all messages on the server from its creation on.
type Tap struct {
	s        *Server
	sub      *nats.Subscription
	nc       *nats.Conn
	subjects map[string]bool
}

// Tap subscribes to all messages.
func (s *Server) Tap(t testing.TB) *Tap {
	t.Helper()
	nc, err := nats.Connect(s.As(Admin), nats.Name("tap"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	tap := &Tap{s: s, nc: nc, subjects: map[string]bool{}}
	if tap.sub, err = nc.SubscribeSync(">"); err == nil {
		err = nc.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	return tap
}

// Unused lists the publish permissions of an identity that no message so far has used.
func (tap *Tap) Unused(t testing.TB, identity string) []string {
	t.Helper()
	user := tap.s.users[identity]
	if user == nil || user.Permissions == nil {
		t.Fatalf("deploy/nats has no permissions of %q", identity)
	}
	tap.catchUp(t)
	var out []string
	for _, permission := range user.Permissions.Publish.Allow {
		if !tap.used(permission) {
			out = append(out, permission)
		}
	}
	return out
}

// catchUp reads all messages that the server sends before it answers the flush.
func (tap *Tap) catchUp(t testing.TB) {
	t.Helper()
	if err := tap.nc.Flush(); err != nil {
		t.Fatal(err)
	}
	waiting, _, err := tap.sub.Pending()
	for ; waiting > 0 && err == nil; waiting-- {
		var m *nats.Msg
		if m, err = tap.sub.NextMsgWithContext(t.Context()); err == nil {
			tap.subjects[m.Subject] = true
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (tap *Tap) used(permission string) bool {
	for subject := range tap.subjects {
		if server.SubjectMatchesFilter(subject, permission) {
			return true
		}
	}
	return false
}

package events

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/natstest/busauth"
)

// trusted identities are in the account of the streams, where a reply or a consumer can write to any subject.
var trusted = []string{"bootstrap", "reader", "status-aggregator"}

// JetStream publishes an answer to the subject that the request names as its reply, without a check of the requester's
// permissions. Each granted request of a restricted identity, with each forbidden subject as its reply, changes nothing.
func TestRepliesGrantNoPublish(t *testing.T) {
	for _, identity := range restricted(t) {
		attempts := forbidden()[identity]
		if len(attempts) == 0 {
			t.Errorf("forbidden_test.go has no operations of %s", identity)
		}
		grants := busauth.Permissions(t, names, identity).Publish.Allow
		replies := literals(grants) // a chain of its own requests reaches no other subject
		for _, a := range attempts {
			if !a.listens {
				replies = append(replies, a.subject)
			}
		}
		for _, grant := range grants {
			t.Run(identity+" requests "+grant, func(t *testing.T) {
				g := newRepliesEnv(t)
				before := g.foreign(grants)
				g.requestWithReplies(identity, grant, replies)
				if diff := cmp.Diff(before, g.foreign(grants)); diff != "" {
					t.Errorf("the replies changed the streams (-before +after):\n%s", diff)
				}
			})
		}
	}
}

func restricted(t *testing.T) []string {
	t.Helper()
	return slices.DeleteFunc(busauth.Identities(t, names), func(name string) bool { return slices.Contains(trusted, name) })
}

// A wider import would widen what replies reach, and a missing one looks like an outage.
func TestImportsEqualPermissions(t *testing.T) {
	g := newGuarded(t)
	streams, err := g.Server.Server.Server().Accountz(&server.AccountzOptions{Account: "FLOTILLA"})
	if err != nil {
		t.Fatal(err)
	}
	for _, exported := range streams.Account.Exports {
		if len(exported.ApprovedAccounts) == 0 {
			t.Errorf("each account may import %s", exported.Subject)
		}
	}
	for _, identity := range restricted(t) {
		t.Run(identity, func(t *testing.T) {
			got, err := g.Server.Server.Server().Accountz(&server.AccountzOptions{Account: identity})
			if err != nil {
				t.Fatal(err)
			}
			if got.Account.JetStream || len(got.Account.Exports) > 0 {
				t.Errorf("JetStream is %t, exports are %v", got.Account.JetStream, got.Account.Exports)
			}
			var publish, subscribe []string
			for _, imported := range got.Account.Imports {
				local := string(imported.LocalSubject)
				switch {
				case imported.Account == "$SYS" && strings.HasPrefix(local, "$SYS.REQ."): // each account imports those about itself
				case imported.Invalid || imported.Account != "FLOTILLA" || string(imported.Subject) != local:
					t.Errorf("import %+v", imported)
				case imported.Type == jwt.Service:
					publish = append(publish, local)
				default:
					subscribe = append(subscribe, local)
				}
			}
			rights := busauth.Permissions(t, names, identity)
			want := append([]string{"$JS.API.INFO"}, rights.Publish.Allow...)
			if diff := cmp.Diff(slices.Sorted(slices.Values(want)), slices.Sorted(slices.Values(publish))); diff != "" {
				t.Errorf("service imports (-permissions +imports):\n%s", diff)
			}
			want = slices.DeleteFunc(slices.Clone(rights.Subscribe.Allow), func(s string) bool { return s == "_INBOX_"+identity+".>" })
			if diff := cmp.Diff(want, subscribe, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("stream imports (-permissions +imports):\n%s", diff)
			}
		})
	}
}

// A rollup removes all earlier messages of a stream, or those of a subject. A publisher needs no permission for the header.
func TestStreamsRejectRollups(t *testing.T) {
	g := newRepliesEnv(t)
	before := g.foreign(nil)
	for _, identity := range restricted(t) {
		for _, grant := range busauth.Permissions(t, names, identity).Publish.Allow {
			if strings.HasPrefix(grant, "$JS.") {
				continue
			}
			m := &nats.Msg{Subject: literal(grant), Header: nats.Header{jetstream.MsgRollup: {jetstream.MsgRollupAll}}}
			if _, err := g.plain(identity).PublishMsg(t.Context(), m); err == nil {
				t.Errorf("%s: the stream accepts a rollup on %s", identity, m.Subject)
			}
		}
	}
	if diff := cmp.Diff(before, g.foreign(nil)); diff != "" {
		t.Errorf("rollups changed the streams (-before +after):\n%s", diff)
	}
}

// newRepliesEnv returns a bus with messages and consumers of two tenants, and a message that "other" has not acknowledged.
func newRepliesEnv(t *testing.T) guarded {
	t.Helper()
	g := newGuarded(t)
	makeConsumer(t, g.admin, contract.StreamLifecycle, "pager", contract.LifecyclePrefix+".prod.team-a.>")
	makeConsumer(t, g.admin, contract.StreamLifecycle, "other", contract.LifecyclePrefix+".prod.team-b.>")
	g.publish("team-a", "a")
	g.publish("team-b", "b")
	for _, subject := range []string{
		"flotilla.obs.v1.prod.team-a.superset.main.superset-operator", "flotilla.obs.v1.prod.team-a.fireboltengine.main.engine-operator",
		"flotilla.hb.v1.prod.superset-operator", "flotilla.change.v1.prod.team-a.model.main.created",
	} {
		if _, err := g.admin.Publish(t.Context(), subject, []byte("before")); err != nil {
			t.Fatal(err)
		}
	}
	other, err := g.admin.Consumer(t.Context(), contract.StreamLifecycle, "other")
	if err == nil {
		_, err = other.Next()
	}
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// requestWithReplies sends the granted request once for each reply subject, and waits until the server has processed all.
func (g guarded) requestWithReplies(identity, grant string, replies []string) {
	g.Helper()
	nc := g.plain(identity).Conn()
	subject, body := literal(grant), []byte(nil)
	switch {
	case strings.Contains(grant, ".MSG.NEXT."):
		body = []byte(`{"batch":1,"no_wait":true}`)
	case strings.HasPrefix(grant, "$JS.ACK."):
		body = []byte("+WPI") // the server answers it for each sequence
	}
	for _, reply := range replies {
		if err := nc.PublishMsg(&nats.Msg{Subject: subject, Reply: reply, Data: body}); err != nil {
			g.Fatal(err)
		}
	}
	// The server answers requests of one subject in order.
	ctx, cancel := context.WithTimeout(g.Context(), expect.Long)
	defer cancel()
	if _, err := nc.RequestWithContext(ctx, subject, body); err != nil && !errors.Is(err, nats.ErrNoResponders) {
		g.Fatalf("request %s: %v", subject, err)
	}
	for _, prefix := range []string{
		contract.ObservationPrefix, contract.HeartbeatPrefix, contract.LifecyclePrefix, contract.ChangePrefix,
		contract.DeadLetterPrefix, "$KV." + contract.BucketStatus,
	} {
		// Fails if the stream is deleted; the comparison of the streams reports it.
		_, _ = g.admin.Publish(g.Context(), prefix+"."+barrier, nil, jetstream.WithRetryAttempts(0))
	}
}

// barrier ends the subjects of messages that follow all earlier messages of their stream.
const barrier = "barrier"

// foreign describes the streams, consumers and messages, except for messages on the granted subjects.
func (g guarded) foreign(grants []string) map[string]string {
	g.Helper()
	out := map[string]string{}
	streams := g.admin.StreamNames(g.Context())
	for name := range streams.Name() {
		s, err := g.admin.Stream(g.Context(), name)
		if err != nil {
			g.Fatal(err)
		}
		info, err := s.Info(g.Context(), jetstream.WithSubjectFilter(">"))
		if err != nil {
			g.Fatal(err)
		}
		out[name] = fmt.Sprintf("subjects %v", info.Config.Subjects)
		for subject := range info.State.Subjects {
			granted := slices.ContainsFunc(grants, func(grant string) bool { return server.SubjectMatchesFilter(subject, grant) })
			if granted || strings.HasSuffix(subject, "."+barrier) {
				continue
			}
			m, err := s.GetLastMsgForSubject(g.Context(), subject)
			if err != nil {
				g.Fatal(err)
			}
			out[subject] = fmt.Sprintf("last %d: %s", m.Sequence, m.Data)
		}
	}
	if err := streams.Err(); err != nil {
		g.Fatal(err)
	}
	for _, name := range []string{"pager", "other"} {
		out["consumer "+name] = g.consumerState(name)
	}
	return out
}

// consumerState describes a consumer. "pager" belongs to the requester, which may read and acknowledge its messages.
func (g guarded) consumerState(name string) string {
	c, err := g.admin.Consumer(g.Context(), contract.StreamLifecycle, name)
	if err != nil {
		return err.Error()
	}
	info := c.CachedInfo()
	if name == "pager" {
		return "reads " + info.Config.FilterSubject
	}
	return fmt.Sprintf("reads %s, acknowledged %d, pending %d, paused %t",
		info.Config.FilterSubject, info.AckFloor.Stream, info.NumAckPending, info.Paused)
}

// literal returns a subject that matches the grant. A direct request keeps its wildcards: its answer is the last message
// that matches them.
func literal(grant string) string {
	if strings.Contains(grant, ".DIRECT.GET.") {
		return grant
	}
	grant = strings.ReplaceAll(grant, "*", "x")
	if strings.HasPrefix(grant, "$JS.ACK.") {
		return strings.Replace(grant, ">", "1.1.1.1763719200000000000.0", 1)
	}
	return strings.Replace(grant, ">", "x", 1)
}

func literals(grants []string) []string {
	out := make([]string, len(grants))
	for i, grant := range grants {
		out[i] = literal(grant)
	}
	return out
}

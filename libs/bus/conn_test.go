package bus_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/libs/testkit/natstest"
)

func TestConnectRejectsOnlyInvalidConfig(t *testing.T) {
	tests := map[string]struct {
		cfg  bus.Config
		want string // part of the error; empty means that there is none
	}{
		"an unreachable server":       {bus.Config{URL: "nats://127.0.0.1:1", Name: "tester"}, ""},
		"no URL":                      {bus.Config{Name: "tester"}, "URL is required"},
		"no name":                     {bus.Config{URL: "nats://127.0.0.1:1"}, "client name"},
		"a name that is not a token":  {bus.Config{URL: "nats://127.0.0.1:1", Name: "a>b"}, "client name"},
		"an invalid URL":              {bus.Config{URL: "nats://[", Name: "tester"}, "connection"},
		"a certificate without a key": {bus.Config{URL: "nats://127.0.0.1:1", Name: "tester", TLS: bus.TLS{CertFile: "c"}}, "certificate's key"},
		"a missing CA":                {bus.Config{URL: "nats://127.0.0.1:1", Name: "tester", TLS: bus.TLS{CAFile: "/nowhere"}}, "authorities"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			conn, err := bus.Connect(tc.cfg)
			if tc.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				if conn.Connected() {
					t.Error("Connected without a server")
				}
				closeNow(t, conn)
				return
			}
			if err == nil {
				closeNow(t, conn)
				t.Fatal("no error")
			}
			if !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %q does not contain %q", err, tc.want)
			}
		})
	}
}

func closeNow(t *testing.T, conn *bus.Conn) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := conn.Close(ctx); err != nil {
		t.Error(err)
	}
}

func TestConnReconnectsToServer(t *testing.T) {
	srv := natstest.Start(t)
	srv.Stop()
	c := connect(t, srv.URL())
	var reached atomic.Int32
	c.OnReconnect(func() { reached.Add(1) })

	waitFor := func(connected bool, times int32) {
		t.Helper()
		eventually(t, func() error {
			if c.Connected() != connected || reached.Load() != times {
				return fmt.Errorf("connected %t, reached %d times; want %t, %d", c.Connected(), reached.Load(), connected, times)
			}
			return nil
		})
	}
	srv.Start()
	waitFor(true, 1)
	if got := c.metric(t, "flotilla_bus_connected"); got != 1 {
		t.Errorf("connected is %v, want 1", got)
	}
	srv.Stop()
	waitFor(false, 1)
	srv.Start()
	waitFor(true, 2)
	if got := c.metric(t, "flotilla_bus_reconnects_total"); got != 1 {
		t.Errorf("reconnects_total is %v, want 1", got)
	}
}

func TestCloseLeaksNoGoroutines(t *testing.T) {
	srv := natstest.Start(t)
	conn, err := bus.Connect(bus.Config{URL: srv.URL(), Name: "tester"})
	if err != nil {
		t.Fatal(err)
	}
	closeNow(t, conn)
	closeNow(t, conn) // twice is fine
	wantNoLeaks(t)
	var none *bus.Conn
	closeNow(t, none)
	if none.Connected() {
		t.Error("a nil connection is connected")
	}
}

// Without a timeout, publishes that are never acknowledged would fill the window of the client.
func TestDeniedAsyncPublishIsDropped(t *testing.T) {
	srv := natstest.Start(t, func(o *server.Options) {
		denied := &server.SubjectPermission{Deny: []string{subject(2)}}
		o.Users = []*server.User{{Username: "tester", Permissions: &server.Permissions{Publish: denied}}}
		o.NoAuthUser = "tester"
	})
	c := connect(t, srv.URL())
	bootstrap(t, c)
	if _, err := c.JetStream().PublishAsync(subject(2), []byte("a")); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		if n := c.JetStream().PublishAsyncPending(); n != 0 {
			return fmt.Errorf("%d publishes wait for an acknowledgment, want none", n)
		}
		return nil
	})
}

// A denied publish looks like an outage to the client: the server reports the denial
// asynchronously, so the client must relate it to the publish.
func TestPublishDistinguishesDenialFromOutage(t *testing.T) {
	srv := natstest.Start(t, func(o *server.Options) {
		o.Users = []*server.User{{
			Username: "tester", Password: "secret",
			Permissions: &server.Permissions{
				Publish:   &server.SubjectPermission{Deny: []string{subject(2)}},
				Subscribe: &server.SubjectPermission{Allow: []string{"_INBOX_tester.>"}},
			},
		}}
	})
	c := connect(t, strings.Replace(srv.URL(), "nats://", "nats://tester:secret@", 1))
	bootstrap(t, c)

	if _, err := c.Publish(t.Context(), bus.Message{Subject: subject(1), ID: "1", Body: []byte("a")}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Publish(t.Context(), bus.Message{Subject: subject(2), ID: "2", Body: []byte("a")}); !errors.Is(err, bus.ErrDenied) {
		t.Errorf("error is %v, want ErrDenied", err)
	}
	if got := c.published(t, "denied"); got != 1 {
		t.Errorf("%d publishes counted as denied, want 1", got)
	}

	// A denied subject does not delay other subjects.
	p := bus.NewPublisher(c.Conn)
	running(t, p.Run)
	p.Enqueue(subject(2), text("3", "b"))
	p.Enqueue(subject(3), text("4", "c"))
	wantStored(t, c, map[string]string{subject(3): "c"})
}

func TestIsConflict(t *testing.T) {
	for code, want := range map[jetstream.ErrorCode]bool{
		jetstream.JSErrCodeStreamWrongLastSequence: true, jetstream.JSErrCodeStreamWrongLastSequenceConstant: true,
		jetstream.JSErrCodeMessageNotFound: false,
	} {
		if got := bus.IsConflict(fmt.Errorf("publish: %w", &jetstream.APIError{ErrorCode: code})); got != want {
			t.Errorf("IsConflict is %t for code %d, want %t", got, code, want)
		}
	}
}

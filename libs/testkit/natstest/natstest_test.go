package natstest_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/natstest"
)

func ExampleStart() {
	var t *testing.T // the test's own
	if t == nil {
		fmt.Println("natstest.Start(t).URL() is where clients connect")
		return
	}
	srv := natstest.Start(t)
	srv.Stop()
	srv.Start()
	// Output: natstest.Start(t).URL() is where clients connect
}

func connect(t *testing.T, url string, options ...nats.Option) (*nats.Conn, jetstream.JetStream) {
	t.Helper()
	nc, err := nats.Connect(url, append(options, nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return nc, js
}

func publish(t *testing.T, js jetstream.JetStream) {
	t.Helper()
	_, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "BOATS", Subjects: []string{"boats.>"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish(t.Context(), "boats.one", []byte("hello")); err != nil {
		t.Fatal(err)
	}
}

func reconnected(t *testing.T, nc *nats.Conn) {
	t.Helper()
	expect.Eventually(t, expect.Long, func() error {
		if !nc.IsConnected() {
			return fmt.Errorf("the client is %s", nc.Status())
		}
		return nil
	})
}

func TestRestartKeepsData(t *testing.T) {
	srv := natstest.Start(t)
	nc, js := connect(t, srv.URL())
	publish(t, js)
	url := srv.URL()

	srv.Stop()
	expect.Eventually(t, expect.Long, func() error {
		if nc.IsConnected() {
			return errors.New("the client is still connected")
		}
		return nil
	})
	if srv.Server() != nil {
		t.Error("a stopped server is not nil")
	}
	srv.Start()
	reconnected(t, nc)

	if srv.URL() != url {
		t.Errorf("moved from %s to %s", url, srv.URL())
	}
	stream, err := js.Stream(t.Context(), "BOATS")
	if err != nil {
		t.Fatal(err)
	}
	msg, err := stream.GetLastMsgForSubject(t.Context(), "boats.one")
	if err != nil {
		t.Fatal(err)
	}
	if string(msg.Data) != "hello" {
		t.Errorf("got %q", msg.Data)
	}
}

func TestWipeDeletesData(t *testing.T) {
	srv := natstest.Start(t)
	nc, js := connect(t, srv.URL())
	publish(t, js)

	srv.Wipe()
	reconnected(t, nc)

	if _, err := js.Stream(t.Context(), "BOATS"); !errors.Is(err, jetstream.ErrStreamNotFound) {
		t.Errorf("the stream is still there: %v", err)
	}
}

func TestMessagesAreReadableAfterRestart(t *testing.T) {
	srv := natstest.Start(t)
	_, js := connect(t, srv.URL(), nats.ReconnectBufSize(-1)) // like package bus: publishing fails immediately while disconnected
	publish(t, js)
	for _, body := range []string{"two", "three"} {
		if _, err := js.Publish(t.Context(), "boats.more", []byte(body)); err != nil {
			t.Fatal(err)
		}
	}
	stream, err := js.Stream(t.Context(), "BOATS")
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.DeleteMsg(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	srv.Stop()
	srv.Start()
	var got []string
	for _, m := range natstest.Messages(t, js, "BOATS") { // while the client still reconnects
		got = append(got, string(m.Data))
	}
	if fmt.Sprint(got) != "[hello three]" {
		t.Errorf("read %q", got)
	}
}

func TestStartAndStopAreIdempotent(t *testing.T) {
	srv := natstest.Start(t)
	srv.Start()
	srv.Stop()
	srv.Stop()
	srv.Start()
	connect(t, srv.URL())
}

func TestOptionsConfigureServer(t *testing.T) {
	srv := natstest.Start(t, func(o *server.Options) { o.Authorization = "secret" })
	if nc, err := nats.Connect(srv.URL()); err == nil {
		nc.Close()
		t.Error("connected without the token")
	}
	connect(t, srv.URL(), nats.Token("secret"))
}

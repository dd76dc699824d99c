package streamreset

import (
	"context"
	"errors"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/flotilla-dev/flotilla/libs/testkit/natstest"
)

// A message that is acknowledged before the check hides that earlier ones were lost.
func TestCheckAssumesLossAfterSuspicion(t *testing.T) {
	tests := map[string]struct {
		suspect func(t *testing.T, m *Monitor, js jetstream.JetStream, fail func(error))
		want    Result
	}{
		"no suspicion": {func(*testing.T, *Monitor, jetstream.JetStream, func(error)) {}, Intact},
		"a suspicion":  {func(_ *testing.T, m *Monitor, _ jetstream.JetStream, _ func(error)) { m.Suspect() }, Missing},
		"a failed check": {func(t *testing.T, m *Monitor, js jetstream.JetStream, fail func(error)) {
			t.Helper()
			fail(errors.New("no reply"))
			if _, err := m.Check(t.Context(), js); err == nil {
				t.Error("the check did not fail")
			}
			fail(nil)
		}, Missing},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			js := boats(t)
			m := New("BOATS")
			var failure error
			m.Own(func(context.Context, jetstream.Stream) (bool, error) { return false, failure })
			m.Regressed(m.Mark(), send(t, js))
			tc.suspect(t, m, js, func(err error) { failure = err })
			m.Regressed(m.Mark(), send(t, js))
			for i, want := range []Result{tc.want, Intact} {
				if got, err := m.Check(t.Context(), js); err != nil || got != want {
					t.Errorf("check %d: got %v, %v; want %v", i, got, err, want)
				}
			}
		})
	}
}

// An observer without the permission to read its newest message still detects that the stream was re-created.
func TestCheckDetectsResetWithoutOwnMessage(t *testing.T) {
	js := boats(t)
	m := New("BOATS")
	m.Own(func(context.Context, jetstream.Stream) (bool, error) { return false, errors.New("no reply") })
	if got, err := m.Check(t.Context(), js); got != Intact || err == nil {
		t.Errorf("got %v, %v; want %v and an error", got, err, Intact)
	}
	m.Regressed(m.Mark(), send(t, js))
	if err := js.DeleteStream(t.Context(), "BOATS"); err != nil {
		t.Fatal(err)
	}
	create(t, js)
	for i, want := range []Result{Reset, Intact} {
		if got, err := m.Check(t.Context(), js); got != want || err == nil {
			t.Errorf("check %d: got %v, %v; want %v and an error", i, got, err, want)
		}
	}
}

func boats(t *testing.T) jetstream.JetStream {
	t.Helper()
	nc, err := nats.Connect(natstest.Start(t).URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	create(t, js)
	return js
}

func create(t *testing.T, js jetstream.JetStream) {
	t.Helper()
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "BOATS", Subjects: []string{"boats"}}); err != nil {
		t.Fatal(err)
	}
}

func send(t *testing.T, js jetstream.JetStream) *jetstream.PubAck {
	t.Helper()
	ack, err := js.Publish(t.Context(), "boats", nil)
	if err != nil {
		t.Fatal(err)
	}
	return ack
}

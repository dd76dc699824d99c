package subscriber

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/natstest/busauth"
)

// env is a bus with the permissions of deploy/nats.
type env struct {
	*testing.T
	srv *busauth.Server
	js  jetstream.JetStream
}

func newEnv(t *testing.T) *env {
	t.Helper()
	b := &env{T: t, srv: busauth.Start(t, busauth.Names{Cluster: "local", Namespace: "team-a", Tool: "watcher"})}
	nc, err := nats.Connect(b.srv.As(busauth.Admin), nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	if b.js, err = jetstream.New(nc); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *env) as(identity string) Access {
	return Access{URL: b.srv.URL(), User: identity, Password: busauth.Password}
}

// stream creates the stream and the consumer as soon as the server responds.
func (b *env) stream() {
	b.Helper()
	expect.Eventually(b.T, expect.Long, func() error {
		ctx, cancel := context.WithTimeout(b.Context(), 2*time.Second)
		defer cancel()
		_, err := b.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
			Name: contract.StreamLifecycle, Subjects: []string{contract.LifecyclePrefix + ".>"}, AllowDirect: true,
		})
		if err == nil {
			_, err = b.js.CreateOrUpdateConsumer(ctx, contract.StreamLifecycle, jetstream.ConsumerConfig{
				Durable: "watcher", FilterSubject: contract.LifecyclePrefix + ".local.team-a.>", AckPolicy: jetstream.AckExplicitPolicy,
			})
		}
		return err
	})
}

// publish publishes an event about a phase change.
func (b *env) publish(id, to string) {
	b.Helper()
	gvk, _ := contract.Lookup(contract.Superset)
	data := contract.Lifecycle{
		Object: contract.Object{GroupVersionKind: gvk, Namespace: "team-a", Name: "main", UID: "u"},
		Event:  contract.EventPhase, Phase: &contract.PhaseChange{Seq: 1, To: to},
	}
	body, err := contract.Encode(contract.Event{ID: id, Source: contract.Source("local", "test"), Time: time.Unix(1, 0)}, data)
	if err == nil {
		_, err = b.js.Publish(b.Context(), contract.LifecyclePrefix+".local.team-a.superset.main.phase", body)
	}
	if err != nil {
		b.Fatal(err)
	}
}

// want waits until the subscriber has received exactly these ids in this order.
func (b *env) want(s *Subscriber, ids ...string) {
	b.Helper()
	expect.Eventually(b.T, expect.Long, func() error {
		if err := s.CheckQuiet(); err != nil {
			return err
		}
		var got []string
		for _, e := range s.Events() {
			got = append(got, e.ID)
		}
		if !slices.Equal(got, ids) {
			return fmt.Errorf("got events %v, want %v", got, ids)
		}
		return nil
	})
}

func TestFollowKeepsEachEventOnce(t *testing.T) {
	b := newEnv(t)
	s, err := Follow(t.Context(), b.as("watcher"), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	expect.Eventually(t, expect.Long, func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.waiting == nil {
			return errors.New("the missing stream is not reported")
		}
		return nil
	})
	b.stream()
	b.publish("u.1", "a")
	b.publish("u.2", "b")
	b.publish("u.1", "a")
	b.want(s, "u.1", "u.2")
	if s.Repeated() != 1 || s.Problems() != nil {
		t.Errorf("%d redelivered events, %v", s.Repeated(), s.Problems())
	}

	b.srv.Stop()
	b.srv.Start()
	b.stream()
	b.publish("u.3", "c")
	b.want(s, "u.1", "u.2", "u.3")

	b.srv.Stop()
	b.srv.Wipe()
	expect.Eventually(t, expect.Long, func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		if _, err := Stored(ctx, b.as("reader"), "local", "team-a"); !errors.Is(err, ErrNoStream) {
			return fmt.Errorf("got %w, want ErrNoStream", err)
		}
		return nil
	})
	b.stream()
	b.publish("u.3", "c")
	b.publish("u.4", "d")
	b.want(s, "u.1", "u.2", "u.3", "u.4")
	if s.Problems() != nil {
		t.Error(s.Problems())
	}
	b.publish("u.4", "another content")
	b.publish("u.5", "e")
	b.want(s, "u.1", "u.2", "u.3", "u.4", "u.5")
	if s.Problems() == nil {
		t.Error("an id that is reused with other contents is not detected")
	}
	b.srv.WantNoViolations(t)
}

func TestStoredReturnsStreamEvents(t *testing.T) {
	b := newEnv(t)
	b.stream()
	if got, err := Stored(t.Context(), b.as("reader"), "local", "team-a"); err != nil || len(got) != 0 {
		t.Errorf("an empty stream returns %v, %v", got, err)
	}
	b.publish("u.1", "a")
	b.publish("u.1", "a")
	got, err := Stored(t.Context(), b.as("reader"), "local", "team-a")
	if err != nil || len(got) != 2 || got[1].ID != "u.1" || got[1].Stream != 2 || got[0].Data.Phase.To != "a" {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := Stored(t.Context(), b.as("reader"), "local", "team-b"); err != nil || len(got) != 0 {
		t.Errorf("another namespace returns %v, %v", got, err)
	}
	b.srv.WantNoViolations(t)
}

func TestFollowRejectsInvalidCA(t *testing.T) {
	if _, err := Follow(t.Context(), Access{URL: "tls://127.0.0.1:1", Authority: []byte("none")}, time.Now); err == nil {
		t.Error("no error")
	}
}

func TestSubscriberSortsLateEvents(t *testing.T) {
	s := &Subscriber{events: []Event{
		{ID: "a.1", sequence: contract.Sequence(1, 9)},
		{ID: "a.3", sequence: contract.Sequence(1, 12)},
		{ID: "a.2", sequence: contract.Sequence(1, 10)},
		{ID: "a.4", sequence: contract.Sequence(2, 1)},
	}}
	var got []string
	for _, e := range s.Events() {
		got = append(got, e.ID)
	}
	if !slices.Equal(got, []string{"a.1", "a.2", "a.3", "a.4"}) {
		t.Errorf("%v", got)
	}
}

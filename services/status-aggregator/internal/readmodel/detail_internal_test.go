package readmodel

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/contract/statusapi"
	"github.com/flotilla-dev/flotilla/libs/testkit/natstest"

	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/registry"
)

// recordingBus records from which times streams are read.
type recordingBus struct {
	*bus.Conn
	starts  []time.Time
	maximum int // of the reads that succeed
}

func (b *recordingBus) JetStream() jetstream.JetStream {
	return recordingJetStream{b.Conn.JetStream(), b}
}

type recordingJetStream struct {
	jetstream.JetStream
	bus *recordingBus
}

func (j recordingJetStream) Stream(ctx context.Context, name string) (jetstream.Stream, error) {
	s, err := j.JetStream.Stream(ctx, name)
	return recordingStream{s, j.bus}, err
}

type recordingStream struct {
	jetstream.Stream
	bus *recordingBus
}

func (s recordingStream) CreateConsumer(ctx context.Context, cfg jetstream.ConsumerConfig) (jetstream.Consumer, error) {
	var start time.Time
	if cfg.OptStartTime != nil {
		start = *cfg.OptStartTime
	}
	if s.bus.starts = append(s.bus.starts, start); len(s.bus.starts) > s.bus.maximum {
		return nil, errors.New("the bus is slow")
	}
	return s.Stream.CreateConsumer(ctx, cfg)
}

// publishHistory publishes events of an object and returns their ids.
func publishHistory(t *testing.T, js jetstream.JetStream, ref contract.Ref, o contract.Object) []string {
	t.Helper()
	subject, err := contract.LifecycleSubject(ref, contract.EventDegraded)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for i := range 3 {
		id := fmt.Sprintf("%s.%d", o.UID, i)
		body, err := contract.Encode(contract.Event{ID: id, Source: contract.Source(ref.Cluster, "status-aggregator"), Time: time.Now()},
			contract.Lifecycle{Object: o, Event: contract.EventDegraded})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := js.Publish(t.Context(), subject, body); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	return ids
}

// newBus connects to a server with the streams.
func newBus(t *testing.T) *bus.Conn {
	t.Helper()
	conn, err := bus.Connect(bus.Config{URL: natstest.Start(t).URL(), Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if err := bus.Bootstrap(t.Context(), conn.JetStream(), bus.DefaultParams()); err != nil {
		t.Fatal(err)
	}
	return conn
}

// A name can have very many events: those before the creation of the object are not read, and recent ones are read first.
func TestHistoryReadsLatestEvents(t *testing.T) {
	conn := newBus(t)
	kinds, err := registry.Managed()
	if err != nil {
		t.Fatal(err)
	}
	kind, _ := kinds.Lookup(contract.Superset)
	gvk, _ := contract.Lookup(contract.Superset)
	ref := contract.Ref{Cluster: "prod", Namespace: "team-a", Kind: contract.Superset, Name: "main"}
	o := contract.Object{GroupVersionKind: gvk, Namespace: ref.Namespace, Name: ref.Name, UID: "uid"}
	stored := time.Now().UTC()
	ids := publishHistory(t, conn.JetStream(), ref, o)

	const long = 90 * 24 * time.Hour
	for name, tc := range map[string]struct {
		age       time.Duration // of the object when the events were stored
		after     time.Duration // from then to the request
		limit     int
		reads     int // that succeed
		want      []string
		truncated bool
		starts    []time.Time
		fails     bool
	}{
		"enough recent events": {
			age: long, limit: 2, reads: 1, want: ids[1:], truncated: true, starts: []time.Time{stored.Add(-recentHistory)},
		},
		"too few recent events": {
			age: long, after: 2 * recentHistory, limit: 3, reads: 2, want: ids,
			starts: []time.Time{stored.Add(recentHistory), stored.Add(-long - clockSkew)},
		},
		"a new object": {
			age: time.Hour, limit: 3, reads: 1, want: ids, starts: []time.Time{stored.Add(-time.Hour - clockSkew)},
		},
		"the older events cannot be read": {
			age: long, limit: 9, reads: 1, want: ids, fails: true,
			starts: []time.Time{stored.Add(-recentHistory), stored.Add(-long - clockSkew)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			recording := &recordingBus{Conn: conn, maximum: tc.reads}
			v := &View{cfg: Config{Bus: recording, Cluster: ref.Cluster, Clock: clocktesting.NewFakeClock(stored.Add(tc.after)), Log: logr.Discard()}}
			d := statusapi.ResourceDetail{Resource: statusapi.Resource{Object: o}}
			if err := v.fetch(t.Context(), kind, ref, stored.Add(-tc.age), tc.limit, &d); (err != nil) != tc.fails {
				t.Fatalf("got error %v, want one: %v", err, tc.fails)
			}
			var got []string
			for _, e := range d.History {
				got = append(got, e.ID)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || d.HistoryTruncated != tc.truncated {
				t.Errorf("truncated %v, events (-want +got):\n%s", d.HistoryTruncated, diff)
			}
			if diff := cmp.Diff(tc.starts, recording.starts); diff != "" {
				t.Errorf("the stream is read from (-want +got):\n%s", diff)
			}
		})
	}
}

package bus_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/libs/contract"
)

var me = contract.Observer{Name: "tester", Instance: "tester-0", Version: "v1.2.3"}

func observation(name, phase string) contract.Observation {
	gvk, _ := contract.Lookup(contract.Superset)
	return contract.Observation{
		Object: contract.Object{
			GroupVersionKind: gvk, Namespace: "ns", Name: name, UID: "uid-" + name, Generation: 1, ResourceVersion: "1",
		},
		ObservedAt:      time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC),
		ValidForSeconds: 30,
		Phase:           phase,
		Reconcile:       contract.Reconcile{Outcome: contract.Succeeded},
	}
}

func subjectOf(t *testing.T, name string) string {
	t.Helper()
	ref := contract.Ref{Cluster: "prod", Namespace: "ns", Kind: contract.Superset, Name: name}
	s, err := contract.ObservationSubject(ref, me.Name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// wantPhase waits until the stream holds an observation with the phase and returns it.
func wantPhase(t *testing.T, c client, name, phase string) (contract.Event, contract.Observation) {
	t.Helper()
	var (
		e contract.Event
		o contract.Observation
	)
	eventually(t, func() error {
		got, err := stored(t.Context(), c, subjectOf(t, name))
		if err != nil {
			return err
		}
		if e, o = decodeObservation(t, got[subjectOf(t, name)]); o.Phase != phase {
			return fmt.Errorf("phase is %q, want %q", o.Phase, phase)
		}
		return nil
	})
	return e, o
}

func observing(t *testing.T, c client, start int64) *bus.ObservationPublisher {
	t.Helper()
	p := bus.NewPublisher(c.Conn)
	o := bus.NewObservationPublisher(p, "prod", me, func() int64 { return start })
	running(t, p.Run)
	return o
}

func TestObservationHasVersion(t *testing.T) {
	_, c := bootstrapped(t)
	o := observing(t, c, 1000)
	o.Publish(contract.Superset, observation("a", "Initializing"))
	wantPhase(t, c, "a", "Initializing")
	o.Publish(contract.Superset, observation("a", "Running"))
	e, got := wantPhase(t, c, "a", "Running")

	want := observation("a", "Running")
	want.Observer, want.Epoch, want.Seq = me, 1000, 2
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("observation (-want +got):\n%s", diff)
	}
	if want := "uid-a.tester.1000.2"; e.ID != want {
		t.Errorf("id is %q, want %q", e.ID, want)
	}
	if want := contract.Sequence(1000, 2); e.Sequence != want {
		t.Errorf("sequence is %q, want %q", e.Sequence, want)
	}
}

func TestPublishSkipsEqualObservation(t *testing.T) {
	_, c := bootstrapped(t)
	o := observing(t, c, 1000)
	o.Publish(contract.Superset, observation("a", "Running"))
	wantPhase(t, c, "a", "Running")
	for i := range 10 {
		equal := observation("a", "Running")
		equal.ObservedAt = equal.ObservedAt.Add(time.Duration(i) * time.Minute)
		equal.Object.ResourceVersion = fmt.Sprint(i)
		o.Publish(contract.Superset, equal)
	}
	o.Publish(contract.Superset, observation("b", "Running"))
	wantPhase(t, c, "b", "Running")
	if got := streamState(t, c, contract.StreamObservations).LastSeq; got != 2 {
		t.Errorf("%d messages were stored, want 2", got)
	}
}

func TestPublishCountsConflatedObservations(t *testing.T) {
	srv, c := bootstrapped(t)
	srv.Stop()
	o := observing(t, c, 1000)
	for i := range 5 {
		o.Publish(contract.Superset, observation("a", fmt.Sprint(i)))
	}
	srv.Start()
	_, got := wantPhase(t, c, "a", "4")
	if got.Coalesced != 4 || got.Seq != 1 {
		t.Errorf("coalesced %d and seq %d, want 4 and 1", got.Coalesced, got.Seq)
	}
	o.Publish(contract.Superset, observation("a", "5"))
	if _, got = wantPhase(t, c, "a", "5"); got.Coalesced != 0 {
		t.Errorf("coalesced %d after everything had arrived, want 0", got.Coalesced)
	}
}

func TestEpochExceedsPreviousEpoch(t *testing.T) {
	tests := map[string]struct {
		first, second int64
		want          int64
	}{
		"the clock advances":     {1000, 2000, 2000},
		"the clock was set back": {2000, 1000, 2001},
		"the same start":         {1000, 1000, 1001},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, c := bootstrapped(t)
			observing(t, c, tc.first).Publish(contract.Superset, observation("a", "old"))
			wantPhase(t, c, "a", "old")
			o := observing(t, c, tc.second)
			o.Publish(contract.Superset, observation("b", "new")) // another object: the head is the observer's, not the object's
			if _, got := wantPhase(t, c, "b", "new"); got.Epoch != tc.want || o.Epoch() != tc.want {
				t.Errorf("epoch is %d, and %d for heartbeats; want %d", got.Epoch, o.Epoch(), tc.want)
			}
		})
	}
}

func TestObservationPublisherRefillsLostStream(t *testing.T) {
	srv, c := bootstrapped(t)
	o := observing(t, c, 1000)
	for i := range 20 {
		o.Publish(contract.Superset, observation(fmt.Sprintf("s%d", i), "Running"))
	}
	for i := range 20 {
		wantPhase(t, c, fmt.Sprintf("s%d", i), "Running")
	}
	srv.Wipe()
	bootstrap(t, c)
	for i := range 20 {
		if _, got := wantPhase(t, c, fmt.Sprintf("s%d", i), "Running"); got.Seq != 2 || got.Epoch != 1000 {
			t.Errorf("version is (%d,%d), want (1000,2)", got.Epoch, got.Seq)
		}
	}
}

func TestDeletePublishesExpiringTombstone(t *testing.T) {
	_, c := bootstrapped(t)
	o := observing(t, c, 1000)
	o.Publish(contract.Superset, observation("a", "Running"))
	wantPhase(t, c, "a", "Running")
	o.Delete(contract.Superset, observation("a", "").Object)
	_, got := wantPhase(t, c, "a", "")
	if !got.Deleting || got.Seq != 2 {
		t.Errorf("deleting %t with seq %d, want true with 2", got.Deleting, got.Seq)
	}
	stream, err := c.JetStream().Stream(t.Context(), contract.StreamObservations)
	if err != nil {
		t.Fatal(err)
	}
	m, err := stream.GetLastMsgForSubject(t.Context(), subjectOf(t, "a"))
	if err != nil {
		t.Fatal(err)
	}
	if got := m.Header.Get("Nats-TTL"); got != "3600" {
		t.Errorf("the tombstone lives for %q seconds, want 3600", got)
	}

	// A new object of the same name starts a new history.
	repeated := observation("a", "Running")
	repeated.Object.UID = "uid-2"
	o.Publish(contract.Superset, repeated)
	if e, got := wantPhase(t, c, "a", "Running"); got.Seq != 1 || e.ID != "uid-2.tester.1000.1" {
		t.Errorf("seq %d, id %q; want 1 and the new uid", got.Seq, e.ID)
	}
}

func TestPublishDropsInvalidObservation(t *testing.T) {
	_, c := bootstrapped(t)
	o := observing(t, c, 1000)
	malicious := observation("a", "x")
	malicious.Object.Name = "a.*.>\r\nPUB x"
	o.Publish(contract.Superset, malicious)
	o.Publish("nosuchkind", observation("a", "x"))
	anonymous := observation("c", "x")
	anonymous.Object.UID = ""
	o.Publish(contract.Superset, anonymous)
	large := observation("d", "x")
	for i := range 2000 {
		large.Units = append(large.Units, contract.Unit{Name: fmt.Sprintf("unit-%d", i)})
	}
	o.Publish(contract.Superset, large)
	o.Publish(contract.Superset, observation("b", "Running"))
	wantPhase(t, c, "b", "Running")
	eventually(t, func() error {
		if got := c.published(t, "invalid"); got != 4 {
			return fmt.Errorf("%d invalid, want 4", got)
		}
		return nil
	})
}

func TestPublishTruncatesLongTexts(t *testing.T) {
	_, c := bootstrapped(t)
	o := observing(t, c, 1000)
	long := observation("a", "Failed")
	long.Reconcile.Message = strings.Repeat("ä", 100_000)
	o.Publish(contract.Superset, long)
	if _, got := wantPhase(t, c, "a", "Failed"); len(got.Reconcile.Message) > contract.MaxTextBytes {
		t.Errorf("message has %d bytes", len(got.Reconcile.Message))
	}
}

func TestNilObservationPublisherAcceptsCalls(*testing.T) {
	var none *bus.ObservationPublisher
	none.Publish(contract.Superset, observation("a", "Running"))
	none.Delete(contract.Superset, observation("a", "").Object)
	none.Epoch()
}

// observed returns a subject under a name that local variables do not shadow.
func observed(i int) string { return subject(i) }

func TestUnacknowledgedReadsBodyOrHeader(t *testing.T) {
	header := func(value string) map[string][]string {
		return map[string][]string{bus.HeaderUnacknowledged: {value}}
	}
	two, negative := 2, -1
	tests := map[string]struct {
		body   *int
		header map[string][]string
		want   int
		ok     bool
	}{
		"the body":                        {body: &two, want: 2, ok: true},
		"the header of an older observer": {header: header("3"), want: 3, ok: true},
		"both: the body counts":           {body: &two, header: header("3"), want: 2, ok: true},
		"neither":                         {},
		"no number":                       {header: header("many")},
		"less than none":                  {header: header("-1")},
		"less than none in the body":      {body: &negative},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			n, ok := bus.Unacknowledged(contract.Heartbeat{Unacknowledged: tc.body}, tc.header)
			if ok != tc.ok || ok && n != tc.want {
				t.Errorf("got %d, %v; want %d, %v", n, ok, tc.want, tc.ok)
			}
		})
	}
}

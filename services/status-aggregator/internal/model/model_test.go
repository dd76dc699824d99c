package model

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func received(uid string, epoch int64, seq uint64, sequence uint64) Received {
	return Received{
		Observation: contract.Observation{
			Object: contract.Object{UID: uid, ResourceVersion: fmt.Sprint(1000*epoch + int64(seq))},
			Epoch:  epoch,
			Seq:    seq,
			Phase:  fmt.Sprintf("%s/%d/%d", uid, epoch, seq),
		},
		StreamSequence: sequence,
		ReceivedAt:     start,
	}
}

func mergeAll(messages ...Received) Object {
	var o Object
	for _, m := range messages {
		o, _ = o.Merge(m)
	}
	return o
}

func TestPick(t *testing.T) {
	never := func(Received) bool { return false }
	always := func(Received) bool { return true }
	cases := map[string]struct {
		messages []Received
		uid      string
		expired  func(Received) bool
		phase    string
		waiting  bool
		notLive  bool
	}{
		"nothing received":                            {uid: "a", expired: never, notLive: true},
		"only another incarnation received":           {messages: []Received{received("b", 1, 1, 1)}, uid: "a", expired: never, notLive: true},
		"the greater seq wins":                        {messages: []Received{received("a", 1, 2, 2), received("a", 1, 1, 1)}, uid: "a", expired: never, phase: "a/1/2"},
		"the greater epoch wins over the greater seq": {messages: []Received{received("a", 1, 9, 1), received("a", 2, 1, 2)}, uid: "a", expired: never, phase: "a/2/1"},
		"A, B, A ends at the second A":                {messages: []Received{received("a", 1, 1, 1), received("a", 1, 2, 2), received("a", 1, 3, 3)}, uid: "a", expired: never, phase: "a/1/3"},
		"a late replay of a lower epoch is ignored":   {messages: []Received{received("a", 2, 1, 2), received("a", 1, 7, 1)}, uid: "a", expired: always, phase: "a/2/1"},
		"a later message of a lower epoch waits":      {messages: []Received{received("a", 2, 1, 1), received("a", 1, 1, 2)}, uid: "a", expired: never, phase: "a/2/1", waiting: true},
		"a later message of a lower epoch wins after the greater one expired": {
			messages: []Received{received("a", 2, 1, 1), received("a", 1, 1, 2)}, uid: "a", expired: always, phase: "a/1/1",
		},
		"an old incarnation does not hide the live one": {
			messages: []Received{received("new", 1, 1, 1), received("old", 9, 9, 2)}, uid: "new", expired: always, phase: "new/1/1",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, waiting, ok := mergeAll(tc.messages...).Pick(tc.uid, tc.expired)
			if ok == tc.notLive || waiting != tc.waiting {
				t.Fatalf("ok %v, waiting %v", ok, waiting)
			}
			if diff := cmp.Diff(tc.phase, got.Observation.Phase); diff != "" {
				t.Errorf("picked (-want +got):\n%s", diff)
			}
		})
	}
}

// Shuffled, duplicated and replayed messages result in the same state.
func TestMergeIgnoresOrderAndDuplicates(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2)) // reproducible
	for round := range 300 {
		var messages []Received
		for sequence := range uint64(20) {
			uid := string(rune('a' + random.IntN(6)))
			messages = append(messages, received(uid, 1+random.Int64N(3), 1+random.Uint64N(4), sequence+1))
		}
		want := mergeAll(messages...)
		replay := append(append([]Received{}, messages...), messages...)
		random.Shuffle(len(replay), func(i, j int) { replay[i], replay[j] = replay[j], replay[i] })
		if got := mergeAll(replay...); !reflect.DeepEqual(want, got) {
			t.Fatalf("round %d: the state depends on the order of %d messages", round, len(messages))
		}
	}
}

// The accepted version never decreases while its epoch is alive.
func TestPickNeverReturnsOlderVersion(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4)) // reproducible
	var o Object
	var last Received
	for sequence := range uint64(2000) {
		o, _ = o.Merge(received("a", random.Int64N(50), random.Uint64N(50), sequence+1))
		got, _, _ := o.Pick("a", func(Received) bool { return false })
		if compareVersions(got, last) < 0 {
			t.Fatalf("regressed from %d/%d to %d/%d", last.Observation.Epoch, last.Observation.Seq,
				got.Observation.Epoch, got.Observation.Seq)
		}
		last = got
	}
}

func TestMergeOutcomes(t *testing.T) {
	cases := map[string]struct {
		before []Received
		next   Received
		want   Outcome
	}{
		"the first observation":               {nil, received("a", 1, 1, 1), Applied},
		"the next":                            {[]Received{received("a", 1, 1, 1)}, received("a", 1, 2, 2), Applied},
		"the same again":                      {[]Received{received("a", 1, 1, 1)}, received("a", 1, 1, 1), Stale},
		"the same at a later place":           {[]Received{received("a", 1, 1, 1)}, received("a", 1, 1, 2), Stale},
		"an older one":                        {[]Received{received("a", 1, 2, 2)}, received("a", 1, 1, 1), Stale},
		"a lower epoch at a later place":      {[]Received{received("a", 2, 1, 1)}, received("a", 1, 1, 2), Applied},
		"another incarnation":                 {[]Received{received("a", 2, 1, 1)}, received("b", 1, 1, 2), Applied},
		"a lower epoch at an earlier place":   {[]Received{received("a", 2, 1, 2)}, received("a", 1, 1, 1), Stale},
		"the same epoch, lower seq but later": {[]Received{received("a", 2, 5, 1)}, received("a", 2, 4, 2), Stale},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if _, got := mergeAll(tc.before...).Merge(tc.next); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

func TestPruneForgetsEarlierObjects(t *testing.T) {
	o := mergeAll(received("old", 1, 1, 1), received("live", 2, 1, 2), received("next", 3, 1, 3))
	o = o.Prune("live", "2005")
	for uid, want := range map[string]bool{"old": false, "live": true, "next": true} {
		if _, _, ok := o.Pick(uid, nil); ok != want {
			t.Errorf("%s remembered: %v, want %v", uid, ok, want)
		}
	}
}

func TestStreamRecreatedAcceptsNewMessages(t *testing.T) {
	o := mergeAll(received("a", 2, 1, 500)).StreamRecreated()
	o, outcome := o.Merge(received("a", 1, 1, 1))
	if outcome != Applied {
		t.Fatalf("got %s", outcome)
	}
	got, _, _ := o.Pick("a", func(Received) bool { return true })
	if got.Observation.Epoch != 1 {
		t.Errorf("picked epoch %d, want 1", got.Observation.Epoch)
	}
}

func TestStore(t *testing.T) {
	s := NewStore()
	ref := contract.Ref{Cluster: "c", Namespace: "n", Kind: contract.Superset, Name: "a"}
	s.Merge(ref, received("old", 1, 1, 1))
	s.Merge(ref, received("new", 1, 1, 2))
	s.StreamRecreated()
	s.Forget(ref, "old")
	if _, _, ok := s.Get(ref).Pick("old", nil); ok {
		t.Error("the forgotten incarnation is still there")
	}
	if _, _, ok := s.Get(ref).Pick("new", nil); !ok || s.Len() != 1 {
		t.Error("the other incarnation was dropped")
	}
	s.Forget(ref, "new")
	if s.Len() != 0 || !s.Get(ref).Empty() {
		t.Error("the name is still there")
	}
}

func FuzzMerge(f *testing.F) {
	f.Add([]byte{1, 1, 2, 2, 3, 1}, uint64(7))
	f.Fuzz(func(t *testing.T, raw []byte, seed uint64) {
		var messages []Received
		for i := 0; i+1 < len(raw) && i < 60; i += 2 {
			messages = append(messages, received(string('a'+rune(raw[i]%5)), int64(raw[i+1]%4), uint64(raw[i+1]/4), uint64(i+1)))
		}
		shuffled := append([]Received{}, messages...)
		rand.New(rand.NewPCG(seed, 0)).Shuffle(len(shuffled), func(i, j int) { // reproducible
			shuffled[i], shuffled[j] = shuffled[j], shuffled[i]
		})
		if a, b := mergeAll(messages...), mergeAll(shuffled...); !reflect.DeepEqual(a, b) {
			t.Fatalf("%+v\n%+v", a, b)
		}
	})
}

func TestDeleteUpToKeepsLaterMessages(t *testing.T) {
	s := NewStore()
	ref := contract.Ref{Name: "a"}
	s.Merge(ref, received("old", 1, 1, 7))
	position := s.LatestPosition(ref)
	if former, successor := s.PositionOf(ref, "old"), s.PositionOf(ref, "new"); former != position || successor.Sequence != 0 {
		t.Errorf("positions %v and %v, want %v and none", former, successor, position)
	}
	s.Merge(ref, received("new", 1, 1, 8))
	s.DeleteUpTo(ref, position)
	if _, _, ok := s.Get(ref).Pick("old", nil); ok {
		t.Error("the deleted incarnation still exists")
	}
	if _, _, ok := s.Get(ref).Pick("new", nil); !ok {
		t.Error("later messages were lost")
	}
	if s.DeleteUpTo(ref, Position{Sequence: 8}); s.Len() != 0 || len(s.Refs()) != 0 {
		t.Errorf("%v are still there", s.Refs())
	}
}

func TestDeleteUpToIgnoresPositionsOfFormerStream(t *testing.T) {
	s := NewStore()
	ref := contract.Ref{Name: "a"}
	s.Merge(ref, received("old", 1, 1, 7))
	position := s.LatestPosition(ref)
	s.StreamRecreated()
	s.Merge(ref, received("new", 1, 1, 3))
	if s.DeleteUpTo(ref, position); s.PositionOf(ref, "new") != (Position{1, 3}) {
		t.Errorf("the observation of the new stream was dropped: position %v", s.PositionOf(ref, "new"))
	}
	s.DeleteFormer(ref)
	if _, _, ok := s.Get(ref).Pick("old", nil); ok {
		t.Error("the observation of the former stream still exists")
	}
	if _, _, ok := s.Get(ref).Pick("new", nil); !ok {
		t.Error("the observation of the new stream was dropped as one of the former stream")
	}
}

package model

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

// Received is an observation with the metadata of its receipt.
type Received struct {
	Observation contract.Observation
	// StreamSequence is the message's sequence in the stream, 0 if the stream was re-created since.
	StreamSequence uint64
	// StoredAt is when the stream stored it, by the server's clock. It is only displayed: no rule uses it.
	StoredAt time.Time
	// ReceivedAt is when it was received, by the local clock.
	ReceivedAt time.Time
	// Live is true if it was received live, false if the
	// stream retained it, and for all after an interruption ([Object.Retained]).
	Live bool
	// Cause is the span that received it; zero if it has no trace.
	Cause trace.SpanContext
}

// Outcome is the result of a merge.
type Outcome string

// Outcomes of a merge.
const (
	Applied Outcome = "applied" // the observation is newer than the known ones
	Stale   Outcome = "stale"   // older than, or equal to, the known ones
)

// Object holds the observations of one name. The zero value is empty. Values are immutable.
type Object struct {
	incarnations []incarnation // sorted by uid
}

// incarnation is one uid of the name.
type incarnation struct {
	UID    string
	Top    Received // greatest (epoch, seq)
	Latest Received // greatest stream sequence
	// MaxResourceVersion orders the incarnations.
	MaxResourceVersion uint64
}

// Merge returns the object with an additional observation.
func (o Object) Merge(h Received) (Object, Outcome) {
	uid := h.Observation.Object.UID
	i, found := slices.BinarySearchFunc(o.incarnations, uid, func(in incarnation, uid string) int {
		return cmp.Compare(in.UID, uid)
	})
	out := Object{incarnations: slices.Clone(o.incarnations)}
	if !found {
		out.incarnations = slices.Insert(out.incarnations, i, incarnation{
			UID: uid, Top: h, Latest: h,
			MaxResourceVersion: parseVersion(h.Observation.Object.ResourceVersion),
		})
		return out, Applied
	}
	in := &out.incarnations[i]
	outcome := Stale
	if c := compareVersions(h, in.Top); c > 0 || c == 0 && h.StreamSequence > in.Top.StreamSequence {
		in.Top = h
		if c > 0 {
			outcome = Applied
		}
	}
	if compareSequences(h, in.Latest) > 0 {
		in.Latest = h
		if h.Observation.Epoch < in.Top.Observation.Epoch {
			outcome = Applied // used once the greater epoch is stale
		}
	}
	in.MaxResourceVersion = max(in.MaxResourceVersion, parseVersion(h.Observation.Object.ResourceVersion))
	return out, outcome
}

// Pick returns the observation of the incarnation to use. expired reports whether no message
// of the observation's epoch, or a greater one, was received for longer than its validity. It
// is called only when a later message of a lower epoch is pending; waiting is true if it
// returned false.
func (o Object) Pick(uid string, expired func(Received) bool) (h Received, waiting, ok bool) {
	for _, in := range o.incarnations {
		if in.UID != uid {
			continue
		}
		if in.Latest.Observation.Epoch >= in.Top.Observation.Epoch {
			return in.Top, false, true
		}
		if expired(in.Top) {
			return in.Latest, false, true
		}
		return in.Top, true, true
	}
	return Received{}, false, false
}

// StreamRecreated resets the sequences of a stream that no longer exists: any
// message of the new stream is later than all messages of the old one.
func (o Object) StreamRecreated() Object {
	out := Object{incarnations: slices.Clone(o.incarnations)}
	for i := range out.incarnations {
		out.incarnations[i].Top.StreamSequence = 0
		out.incarnations[i].Latest.StreamSequence = 0
	}
	return out
}

// Retained marks all observations as received before an interruption of the subscription.
func (o Object) Retained() Object {
	out := Object{incarnations: slices.Clone(o.incarnations)}
	for i := range out.incarnations {
		out.incarnations[i].Top.Live = false
		out.incarnations[i].Latest.Live = false
	}
	return out
}

// Prune drops the incarnations before the current one: those without an observation at a
// resourceVersion above the current one. An incarnation that the watch has not shown yet stays.
func (o Object) Prune(uid, resourceVersion string) Object {
	now := parseVersion(resourceVersion)
	return Object{incarnations: slices.DeleteFunc(slices.Clone(o.incarnations), func(in incarnation) bool {
		return in.UID != uid && in.MaxResourceVersion <= now
	})}
}

// latestSequence returns the stream sequence of the latest observation of the name; 0 if there is none.
func (o Object) latestSequence() uint64 {
	var latest uint64
	for _, in := range o.incarnations {
		latest = max(latest, in.Latest.StreamSequence)
	}
	return latest
}

// sequenceOf returns the stream sequence of the latest observation of one incarnation; 0 if there is none.
func (o Object) sequenceOf(uid string) uint64 {
	for _, in := range o.incarnations {
		if in.UID == uid {
			return in.Latest.StreamSequence
		}
	}
	return 0
}

// after returns the object without the incarnations whose observations all have sequences up to the given one.
func (o Object) after(sequence uint64) Object {
	return Object{incarnations: slices.DeleteFunc(slices.Clone(o.incarnations), func(in incarnation) bool {
		return in.Latest.StreamSequence <= sequence
	})}
}

// Without returns the object without one incarnation.
func (o Object) Without(uid string) Object {
	return Object{incarnations: slices.DeleteFunc(slices.Clone(o.incarnations), func(in incarnation) bool {
		return in.UID == uid
	})}
}

// Empty reports whether there are no observations.
func (o Object) Empty() bool { return len(o.incarnations) == 0 }

// compareVersions orders by (epoch, seq).
func compareVersions(a, b Received) int {
	return cmp.Or(
		cmp.Compare(a.Observation.Epoch, b.Observation.Epoch),
		cmp.Compare(a.Observation.Seq, b.Observation.Seq),
	)
}

// compareSequences orders by stream sequence, and then by version so that the order is total.
func compareSequences(a, b Received) int {
	return cmp.Or(cmp.Compare(a.StreamSequence, b.StreamSequence), compareVersions(a, b))
}

// parseVersion returns 0 for a resourceVersion that is not a number.
func parseVersion(s string) uint64 {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

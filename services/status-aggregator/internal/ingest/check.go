package ingest

import (
	"errors"
	"fmt"
	"time"

	"github.com/flotilla-dev/flotilla/libs/contract"

	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/registry"
)

// Causes of poison: the last token of the dead letter's subject.
const (
	causeSubject     = "subject"     // the subject is not of the contract's form
	causeOversize    = "oversize"    // larger than the contract allows
	causeMalformed   = "malformed"   // no event, or a field that must be there is not
	causeUnsupported = "unsupported" // another type or major version
	causeForged      = "forged"      // subject and payload contradict each other
	causeKind        = "kind"        // a kind that is not managed here
	causeObserver    = "observer"    // somebody who does not speak for the kind
)

// poison says why a message is not believed.
type poison struct {
	cause string
	err   error
}

func (p *poison) Error() string { return p.cause + ": " + p.err.Error() }

func (p *poison) Unwrap() error { return p.err }

func poisoned(cause, format string, args ...any) error {
	return &poison{cause: cause, err: fmt.Errorf(format, args...)}
}

// observation checks a message of the observation stream.
func observation(kinds registry.Set, cluster, subject string, data []byte) (contract.Ref, contract.Observation, error) {
	prefix, ref, who, err := contract.ParseObjectSubject(subject)
	if err != nil {
		return ref, contract.Observation{}, &poison{cause: causeSubject, err: err}
	}
	if prefix != contract.ObservationPrefix || ref.Cluster != cluster {
		return ref, contract.Observation{}, poisoned(causeSubject, "%q is no observation of cluster %q", subject, cluster)
	}
	kind, ok := kinds.Lookup(ref.Kind)
	if !ok {
		return ref, contract.Observation{}, poisoned(causeKind, "nobody manages the conditions of a %s", ref.Kind)
	}
	if who != kind.Observer {
		return ref, contract.Observation{}, poisoned(causeObserver, "%q does not speak for %s, %q does", who, ref.Kind, kind.Observer)
	}
	event, o, err := contract.Decode[contract.Observation](data)
	if err != nil {
		return ref, o, undecodable(err)
	}
	if err := consistent(kind, ref, who, event, o); err != nil {
		return ref, o, err
	}
	if o.Object.UID == "" || o.Epoch <= 0 || o.Seq == 0 || o.ValidForSeconds < 0 {
		return ref, o, poisoned(causeMalformed, "uid %q, epoch %d, seq %d: all three are required", o.Object.UID, o.Epoch, o.Seq)
	}
	o.ValidForSeconds = min(o.ValidForSeconds, longestValidity)
	return ref, o, nil
}

// longestValidity, in seconds, is as long as anybody is believed after the last sign of life.
const longestValidity = 3600

// consistent compares what the subject says with what the payload says.
func consistent(kind registry.Kind, ref contract.Ref, who string, e contract.Event, o contract.Observation) error {
	for _, c := range []struct{ what, subject, payload string }{
		{"namespace", ref.Namespace, o.Object.Namespace},
		{"name", ref.Name, o.Object.Name},
		{"group", kind.GVK.Group, o.Object.Group},
		{"kind", kind.GVK.Kind, o.Object.Kind},
		{"observer", who, o.Observer.Name},
		{"source", contract.Source(ref.Cluster, who), e.Source},
	} {
		if c.subject != c.payload {
			return poisoned(causeForged, "%s is %q by the subject and %q in the payload", c.what, c.subject, c.payload)
		}
	}
	return nil
}

// heartbeat checks a message of the heartbeat stream.
func heartbeat(cluster, subject string, data []byte) (contract.Heartbeat, error) {
	where, who, err := contract.ParseHeartbeatSubject(subject)
	if err != nil {
		return contract.Heartbeat{}, &poison{cause: causeSubject, err: err}
	}
	_, h, err := contract.Decode[contract.Heartbeat](data)
	if err != nil {
		return h, undecodable(err)
	}
	if where != cluster || h.Cluster != where || h.Observer.Name != who {
		return h, poisoned(causeForged, "heartbeat of %q in %q by the subject and of %q in %q in the payload",
			who, where, h.Observer.Name, h.Cluster)
	}
	return h, nil
}

// validity is for how long a heartbeat is believed: three of its intervals.
func validity(h contract.Heartbeat) time.Duration {
	const missed = 3
	return time.Duration(min(max(h.IntervalSeconds, 0), longestValidity/missed)*missed) * time.Second
}

func undecodable(err error) error {
	cause := causeMalformed
	switch {
	case errors.Is(err, contract.ErrTooLarge):
		cause = causeOversize
	case errors.Is(err, contract.ErrUnsupportedType):
		cause = causeUnsupported
	}
	return &poison{cause: cause, err: err}
}

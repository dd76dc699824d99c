package ingest

import (
	"errors"
	"fmt"
	"time"

	"github.com/flotilla-dev/flotilla/libs/contract"

	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/registry"
)

// Causes of rejection; a cause is the last token of the dead letter's subject.
const (
	causeSubject     = "subject"     // the subject does not follow the contract
	causeOversize    = "oversize"    // larger than the contract allows
	causeMalformed   = "malformed"   // not an event, or a required field is missing
	causeUnsupported = "unsupported" // another type or major version
	causeForged      = "forged"      // subject and payload contradict each other
	causeKind        = "kind"        // a kind that is not managed here
	causeObserver    = "observer"    // an observer that is not allowed for the kind
)

// poison is the error of a rejected message.
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
		return ref, contract.Observation{}, poisoned(causeSubject, "%q is not an observation subject of cluster %q", subject, cluster)
	}
	kind, ok := kinds.Lookup(ref.Kind)
	if !ok {
		return ref, contract.Observation{}, poisoned(causeKind, "kind %s is not managed", ref.Kind)
	}
	if who != kind.Observer {
		return ref, contract.Observation{}, poisoned(causeObserver, "observer %q is not allowed for kind %s, want %q", who, ref.Kind, kind.Observer)
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

// longestValidity, in seconds, limits how long an observer counts as alive after it was last seen.
const longestValidity = 3600

// consistent compares the subject with the payload.
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

// validity returns how long a heartbeat is valid: three of its intervals.
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

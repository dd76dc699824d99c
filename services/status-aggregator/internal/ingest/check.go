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

var causes = []string{causeSubject, causeOversize, causeMalformed, causeUnsupported, causeForged, causeKind, causeObserver}

// rejection is the error of a rejected message.
type rejection struct {
	cause string
	err   error
}

func (p *rejection) Error() string { return p.cause + ": " + p.err.Error() }

func (p *rejection) Unwrap() error { return p.err }

func reject(cause, format string, args ...any) error {
	return &rejection{cause: cause, err: fmt.Errorf(format, args...)}
}

// observation checks a message of the observation stream.
func observation(kinds registry.Set, cluster, subject string, data []byte) (contract.Ref, contract.Observation, error) {
	prefix, ref, observer, err := contract.ParseObjectSubject(subject)
	if err != nil {
		return ref, contract.Observation{}, &rejection{cause: causeSubject, err: err}
	}
	if prefix != contract.ObservationPrefix || ref.Cluster != cluster {
		return ref, contract.Observation{}, reject(causeSubject, "%q is not an observation subject of cluster %q", subject, cluster)
	}
	kind, ok := kinds.Lookup(ref.Kind)
	if !ok {
		return ref, contract.Observation{}, reject(causeKind, "kind %s is not managed", ref.Kind)
	}
	if observer != kind.Observer {
		return ref, contract.Observation{}, reject(causeObserver, "observer %q is not allowed for kind %s, want %q", observer, ref.Kind, kind.Observer)
	}
	event, o, err := contract.Decode[contract.Observation](data)
	if err != nil {
		return ref, o, rejectUndecodable(err)
	}
	if err := consistent(kind, ref, observer, event, o); err != nil {
		return ref, o, err
	}
	if o.Object.UID == "" || o.Epoch <= 0 || o.Seq == 0 || o.ValidForSeconds < 0 {
		return ref, o, reject(causeMalformed, "uid %q, epoch %d, seq %d: all three are required", o.Object.UID, o.Epoch, o.Seq)
	}
	o.ValidForSeconds = min(o.ValidForSeconds, maxValiditySeconds)
	return ref, o, nil
}

// maxValiditySeconds limits how long an observer counts as alive after it was last seen.
const maxValiditySeconds = 3600

// consistent compares the subject with the payload.
func consistent(kind registry.Kind, ref contract.Ref, observer string, e contract.Event, o contract.Observation) error {
	for _, c := range []struct{ name, subject, payload string }{
		{"namespace", ref.Namespace, o.Object.Namespace},
		{"name", ref.Name, o.Object.Name},
		{"group", kind.GVK.Group, o.Object.Group},
		{"kind", kind.GVK.Kind, o.Object.Kind},
		{"observer", observer, o.Observer.Name},
		{"source", contract.Source(ref.Cluster, observer), e.Source},
	} {
		if c.subject != c.payload {
			return reject(causeForged, "%s is %q by the subject and %q in the payload", c.name, c.subject, c.payload)
		}
	}
	return nil
}

// heartbeat checks a message of the heartbeat stream.
func heartbeat(cluster, subject string, data []byte) (contract.Heartbeat, error) {
	origin, observer, err := contract.ParseHeartbeatSubject(subject)
	if err != nil {
		return contract.Heartbeat{}, &rejection{cause: causeSubject, err: err}
	}
	_, h, err := contract.Decode[contract.Heartbeat](data)
	if err != nil {
		return h, rejectUndecodable(err)
	}
	if origin != cluster || h.Cluster != origin || h.Observer.Name != observer {
		return h, reject(causeForged, "heartbeat of %q in %q by the subject and of %q in %q in the payload",
			observer, origin, h.Observer.Name, h.Cluster)
	}
	return h, nil
}

// validity returns how long a heartbeat is valid: three of its intervals.
func validity(h contract.Heartbeat) time.Duration {
	const missedHeartbeats = 3
	return time.Duration(min(max(h.IntervalSeconds, 0), maxValiditySeconds/missedHeartbeats)*missedHeartbeats) * time.Second
}

func rejectUndecodable(err error) error {
	cause := causeMalformed
	switch {
	case errors.Is(err, contract.ErrTooLarge):
		cause = causeOversize
	case errors.Is(err, contract.ErrUnsupportedType):
		cause = causeUnsupported
	}
	return &rejection{cause: cause, err: err}
}

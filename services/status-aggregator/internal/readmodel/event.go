package readmodel

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

// Event is one lifecycle event with its stream sequence.
type Event struct {
	Sequence  uint64
	ID        string
	Time      time.Time
	Ref       contract.Ref
	Lifecycle contract.Lifecycle
	// Data is the whole CloudEvent as JSON on one line.
	Data []byte
}

// message is a message of the stream with its metadata.
type message struct {
	jetstream.Msg
	meta *jetstream.MsgMetadata
}

// event decodes a message. It rejects one whose subject and content name different objects.
func (m message) event() (Event, error) {
	prefix, ref, _, err := contract.ParseObjectSubject(m.Subject())
	if err != nil || prefix != contract.LifecyclePrefix {
		return Event{}, fmt.Errorf("subject %q is not an event subject: %w", m.Subject(), err)
	}
	envelope, l, err := contract.Decode[contract.Lifecycle](m.Data())
	if err != nil {
		return Event{}, err
	}
	gvk, _ := contract.Lookup(ref.Kind)
	if l.Object.Namespace != ref.Namespace || l.Object.Name != ref.Name || l.Object.Kind != gvk.Kind || l.Object.Group != gvk.Group {
		return Event{}, fmt.Errorf("event %q on subject %q is about another object", envelope.ID, m.Subject())
	}
	e := Event{Sequence: m.meta.Sequence.Stream, ID: envelope.ID, Time: envelope.Time, Ref: ref, Lifecycle: l, Data: m.Data()}
	if bytes.ContainsAny(e.Data, "\r\n") {
		var line bytes.Buffer
		if err := json.Compact(&line, e.Data); err != nil {
			return Event{}, err
		}
		e.Data = line.Bytes()
	}
	return e, nil
}

// subject returns the narrowest stream filter that covers f.
func (f Filter) subject(cluster string) (string, error) {
	var subject strings.Builder
	subject.WriteString(contract.LifecyclePrefix)
	for _, name := range []string{cluster, f.Namespace, string(f.Kind), f.Name} {
		token := "*"
		if name != "" {
			var err error
			if token, err = contract.EncodeToken(name); err != nil {
				return "", err
			}
		}
		subject.WriteString("." + token)
	}
	return subject.String() + ".*", nil
}

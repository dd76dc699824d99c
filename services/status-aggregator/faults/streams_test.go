package faults

import (
	"time"

	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/controller/object"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/liveness"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/model"
)

// reader is the reader of one stream.
type reader struct {
	session          int // bus session of its subscription; 0: none
	streamGeneration int
	due              time.Time // next attempt to restart
}

// maxRestart is how long a reader of package bus may take to restart: its longest backoff, 10 s, and the timeout of a request.
const maxRestart = 15 * time.Second

// restart reports whether the reader starts a session now. The readers of the two streams restart at different times.
func (r *reader) restart(w *simulation) bool {
	if r.session == w.session && r.streamGeneration == w.streamGeneration {
		return false
	}
	if r.session > 0 {
		*r = reader{streamGeneration: r.streamGeneration}
	}
	if r.due.IsZero() {
		r.due = w.now()
		if w.chance(50) {
			r.due = r.due.Add(maxRestart)
		}
	}
	return !w.now().Before(r.due)
}

func (a *aggregator) isCaughtUp() bool { return a.observations.session > 0 && a.heartbeats.session > 0 }

// listen reads the two streams like package ingest.
func (a *aggregator) listen() {
	if !a.w.busUp {
		a.observations.session, a.heartbeats.session = 0, 0
		a.liveness.SetDisconnected()
		return
	}
	was := a.isCaughtUp()
	if a.observations.restart(a.w) {
		a.readSnapshot()
	} else if a.observations.session > 0 {
		a.readObservations()
	}
	if a.heartbeats.restart(a.w) {
		if a.heartbeats.streamGeneration != a.w.streamGeneration {
			a.heartbeat = 0
		}
		a.heartbeats = reader{session: a.w.session, streamGeneration: a.w.streamGeneration}
		a.heartbeat = max(a.heartbeat, a.w.heartbeat.sequence)
		was = false
	} else if a.heartbeats.session > 0 {
		a.readHeartbeat()
	}
	switch {
	case !a.isCaughtUp():
		a.liveness.SetDisconnected()
	case !was:
		a.liveness.SetConnected(a.w.now())
		a.enqueueAll()
	}
}

func (a *aggregator) readObservations() {
	for _, m := range a.w.log[min(a.read, uint64(len(a.w.log))):] {
		if !a.w.chance(80) {
			break // it and all later messages are still in flight
		}
		a.receive(m, true)
		a.read = m.sequence
	}
	if delivered := a.w.log[a.from:a.read]; len(delivered) > 0 && a.w.chance(10) { // redeliver one
		a.receive(delivered[a.w.random.IntN(len(delivered))], true)
	}
}

func (a *aggregator) readHeartbeat() {
	if a.w.heartbeat.sequence <= a.heartbeat || !a.w.chance(90) {
		return
	}
	a.heartbeat = a.w.heartbeat.sequence
	a.liveness.RecordSeen(observerName, a.w.heartbeat.epoch, liveness.DefaultValidity, a.w.now())
	if a.w.heartbeat.holding {
		a.liveness.RecordPending(observerName, a.w.now())
	}
}

// readSnapshot starts a session of the observations: the latest message of each object, then live messages.
func (a *aggregator) readSnapshot() {
	recreated := a.observations.streamGeneration != a.w.streamGeneration
	a.liveness.SetDisconnected()
	a.model.Retained()
	if recreated {
		a.model.StreamRecreated()
	}
	a.records.invalidate()
	for _, m := range a.w.last {
		a.receive(m, false)
	}
	a.observations = reader{session: a.w.session, streamGeneration: a.w.streamGeneration}
	a.from, a.read = a.w.sequence, a.w.sequence
}

func (a *aggregator) receive(m message, live bool) {
	now := a.w.now()
	received := model.Received{Observation: m.o, StreamSequence: m.sequence, StoredAt: now, ReceivedAt: now, Live: live}
	if a.model.Merge(ref(m.name), received) != model.Applied {
		return
	}
	if live {
		a.liveness.RecordSeen(observerName, m.o.Epoch, time.Duration(m.o.ValidForSeconds)*time.Second, now)
	}
	after := object.Debounce
	if a.w.chance(50) { // the object was not reconciled for that time
		after = object.Gather
	}
	a.at(ref(m.name), after)
}

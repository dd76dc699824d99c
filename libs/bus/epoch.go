package bus

import (
	"fmt"
	"sync"
	"time"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

// headPatience is the timeout for reading the head; after it the start of the term alone decides.
const headPatience = 10 * time.Second

// epoch is the version of one observer's leadership term.
type epoch struct {
	conn   *Conn
	filter string // all observations of this observer
	start  func() int64
	born   int64 // used while start gives nothing

	looking sync.Mutex // one question at a time; guards the next two
	known   bool
	failing time.Time // since when there is no answer

	mu    sync.Mutex
	using int64
}

func newEpoch(conn *Conn, cluster, observer string, start func() int64) *epoch {
	e := &epoch{conn: conn, start: start, born: conn.cfg.Clock.Now().UnixMilli()}
	// A name that is not a valid token is rejected in every subject later, so there is no head either.
	c, errC := contract.EncodeToken(cluster)
	o, errO := contract.EncodeToken(observer)
	if errC == nil && errO == nil {
		e.filter = contract.ObservationPrefix + "." + c + ".*.*.*." + o
	}
	return e
}

// current returns the epoch in use, which grows only.
func (e *epoch) current() int64 {
	var start int64
	if e.start != nil {
		start = e.start()
	}
	if start <= 0 {
		start = e.born
	}
	return e.atLeast(start)
}

func (e *epoch) atLeast(floor int64) int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.using = max(e.using, floor)
	return e.using
}

// resolve returns the epoch once the head is known. It uses the network the first
// time, and returns [ErrLater] while it gets no answer.
func (e *epoch) resolve() (int64, error) {
	e.looking.Lock()
	defer e.looking.Unlock()
	if e.known || e.filter == "" {
		return e.current(), nil
	}
	now := e.conn.cfg.Clock.Now()
	head, err := e.conn.lastEpoch(e.filter)
	switch {
	case err == nil:
		e.known = true
		e.atLeast(head + 1)
	case e.failing.IsZero():
		e.failing = now
	case now.Sub(e.failing) > headPatience:
		e.conn.log.Error(err, "Did not learn the last epoch; going on from the start of the term", "filter", e.filter)
		e.known = true
	}
	if !e.known {
		return 0, fmt.Errorf("%w: read the head of %q: %w", ErrLater, e.filter, err)
	}
	return e.current(), nil
}

// lastEpoch returns the epoch of the newest observation that matches the filter, or 0
// when there is none.
func (c *Conn) lastEpoch(filter string) (int64, error) {
	reply, err := c.nc.Request("$JS.API.DIRECT.GET."+contract.StreamObservations+"."+filter, nil, publishTimeout)
	if err != nil {
		return 0, fmt.Errorf("ask for the head: %w", err)
	}
	if len(reply.Data) == 0 {
		return 0, nil // 404, or the marker of a message that expired
	}
	_, obs, err := contract.Decode[contract.Observation](reply.Data)
	if err != nil {
		c.log.Error(err, "Did not understand the head of the stream", "filter", filter)
		return 0, nil
	}
	return obs.Epoch, nil
}

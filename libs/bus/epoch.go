package bus

import (
	"fmt"
	"sync"
	"time"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

// headTimeout limits how long the head is requested; then the start of the term alone determines the epoch.
const headTimeout = 10 * time.Second

// epoch is the version of one observer's leadership term.
type epoch struct {
	conn      *Conn
	filter    string // all observations of this observer
	start     func() int64
	createdAt int64 // used while start returns nothing

	resolving    sync.Mutex // one request at a time; guards the next two
	resolved     bool
	failingSince time.Time // zero unless requests fail

	mu    sync.Mutex
	value int64
}

func newEpoch(conn *Conn, cluster, observer string, start func() int64) *epoch {
	e := &epoch{conn: conn, start: start, createdAt: conn.cfg.Clock.Now().UnixMilli()}
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
		start = e.createdAt
	}
	return e.atLeast(start)
}

func (e *epoch) atLeast(floor int64) int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.value = max(e.value, floor)
	return e.value
}

// resolve returns the epoch once the head is known. It uses the network the first
// time, and returns [ErrLater] while it gets no reply.
func (e *epoch) resolve() (int64, error) {
	e.resolving.Lock()
	defer e.resolving.Unlock()
	if e.resolved || e.filter == "" {
		return e.current(), nil
	}
	now := e.conn.cfg.Clock.Now()
	head, err := e.conn.lastEpoch(e.filter)
	switch {
	case err == nil:
		e.resolved = true
		e.atLeast(head + 1)
	case e.failingSince.IsZero():
		e.failingSince = now
	case now.Sub(e.failingSince) > headTimeout:
		e.conn.log.Error(err, "Failed to read the last epoch, using the start of the term", "filter", e.filter)
		e.resolved = true
	}
	if !e.resolved {
		return 0, fmt.Errorf("%w: read the head of %q: %w", ErrLater, e.filter, err)
	}
	return e.current(), nil
}

// lastEpoch returns the epoch of the newest observation that matches the filter, or 0
// when there is none.
func (c *Conn) lastEpoch(filter string) (int64, error) {
	reply, err := c.nc.Request("$JS.API.DIRECT.GET."+contract.StreamObservations+"."+filter, nil, publishTimeout)
	if err != nil {
		return 0, fmt.Errorf("get last message: %w", err)
	}
	if len(reply.Data) == 0 {
		return 0, nil // 404, or the marker of a message that expired
	}
	_, obs, err := contract.Decode[contract.Observation](reply.Data)
	if err != nil {
		c.log.Error(err, "Failed to decode the last observation", "filter", filter)
		return 0, nil
	}
	return obs.Epoch, nil
}

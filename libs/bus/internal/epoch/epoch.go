// Package epoch chooses the version of an observer's leadership term.
package epoch

import (
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

// headTimeout limits how long requests for the head are retried; after that the start of the term determines the epoch.
const headTimeout = 10 * time.Second

// retryAfter is the minimum interval between failing requests: the messages of all objects wait for the same one.
const retryAfter = 100 * time.Millisecond

// Epoch is the version of one observer's leadership term.
type Epoch struct {
	clock     clock.PassiveClock
	log       logr.Logger
	last      func(filter string) (int64, error)
	filter    string // all observations of this observer
	start     func() int64
	createdAt int64 // used while start returns nothing

	resolving    sync.Mutex // one request at a time; guards the next four
	resolved     bool
	failure      error     // of the last request
	failed       time.Time // when it failed
	failingSince time.Time // zero unless requests fail

	mu    sync.Mutex
	value int64
}

// New returns the epoch of an observer. last returns the epoch of the newest observation that matches the
// filter, or 0 when there is none; it may use the network.
func New(cluster, observer string, start func() int64, last func(filter string) (int64, error), clk clock.PassiveClock, log logr.Logger) *Epoch {
	e := &Epoch{clock: clk, log: log, last: last, start: start, createdAt: clk.Now().UnixMilli()}
	// Every subject with an invalid token is rejected later, so a head cannot exist.
	c, errC := contract.EncodeToken(cluster)
	o, errO := contract.EncodeToken(observer)
	if errC == nil && errO == nil {
		e.filter = contract.ObservationPrefix + "." + c + ".*.*.*." + o
	}
	return e
}

// Filter returns the filter of all observations of this observer, or "" if it cannot have any.
func (e *Epoch) Filter() string { return e.filter }

// Current returns the epoch in use, which grows only.
func (e *Epoch) Current() int64 {
	var start int64
	if e.start != nil {
		start = e.start()
	}
	if start <= 0 {
		start = e.createdAt
	}
	return e.atLeast(start)
}

func (e *Epoch) atLeast(floor int64) int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.value = max(e.value, floor)
	return e.value
}

// Resolve returns the epoch once the head is known. It uses the network the first
// time, and returns an error while it gets no reply; it repeats that without a request within [retryAfter].
func (e *Epoch) Resolve() (int64, error) {
	e.resolving.Lock()
	defer e.resolving.Unlock()
	if e.resolved || e.filter == "" {
		return e.Current(), nil
	}
	now := e.clock.Now()
	if e.failure != nil && now.Sub(e.failed) < retryAfter {
		return 0, e.failure
	}
	head, err := e.last(e.filter)
	switch {
	case err == nil:
		e.resolved = true
		e.atLeast(head + 1)
	case e.failingSince.IsZero():
		e.failingSince = now
	case now.Sub(e.failingSince) > headTimeout:
		e.log.Error(err, "Failed to read the last epoch, using the start of the term", "filter", e.filter)
		e.resolved = true
	}
	if !e.resolved {
		e.failure, e.failed = fmt.Errorf("read the head of %q: %w", e.filter, err), e.clock.Now()
		return 0, e.failure
	}
	return e.Current(), nil
}

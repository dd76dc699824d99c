// Package coalesce limits how often a status is written for details alone.
//
// While a workload starts, the counters, reasons and messages of a status change several times a second. Each write costs the
// API server as much as the creation of a workload, and every watcher decodes the whole object. What a client waits for (a
// phase, the status of a condition, the observed generation) is never delayed.
package coalesce

import (
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Interval is the shortest time between a write of a status and one that changes details only.
const Interval = 5 * time.Second

// Details records when objects, by a key such as their UID, were last written. It is safe for concurrent use. After a restart
// it is empty, and the next change of each object is written at once.
type Details[K comparable] struct {
	clock clock.PassiveClock

	mu   sync.Mutex
	last map[K]time.Time
}

// New returns a tracker without objects.
func New[K comparable](clk clock.PassiveClock) *Details[K] {
	return &Details[K]{clock: clk, last: map[K]time.Time{}}
}

// Wait returns how long a change of details has to wait; zero means that it is due.
func (d *Details[K]) Wait(object K) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	last, found := d.last[object]
	if !found {
		return 0
	}
	return max(Interval-d.clock.Since(last), 0)
}

// Written records a write of any kind.
func (d *Details[K]) Written(object K) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last[object] = d.clock.Now()
}

// Forget drops an object that no longer exists, or that another process writes.
func (d *Details[K]) Forget(object K) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.last, object)
}

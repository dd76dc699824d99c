//go:build long

package app

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
)

// A connection that breaks repeatedly leaves neither consumers nor goroutines
// behind, and the conditions stay correct.
func TestReconnectStorm(t *testing.T) {
	f := newFixture(t)
	link := f.link(Name)
	r := f.start()
	o, u, flips := f.available()
	before := runtime.NumGoroutine()
	for range 50 {
		link.restore() // breaks all connections
		expect.Eventually(t, expect.Long, func() error {
			if !r.conn.Connected() {
				return fmt.Errorf("not connected")
			}
			return nil
		})
	}
	o.observe(u, 1)
	flips.want(t, conditions.TypeAvailable, "True", "False")
	for _, stream := range []string{contract.StreamObservations, contract.StreamHeartbeats} {
		expect.Eventually(t, expect.Long, func() error { // the server removes abandoned ones after a minute
			if n := len(f.consumers(stream)); n != 1 {
				return fmt.Errorf("%d consumers on %s", n, stream)
			}
			return nil
		})
	}
	expect.Eventually(t, expect.Long, func() error {
		if now := runtime.NumGoroutine(); now > before+20 {
			return fmt.Errorf("%d goroutines, before the storm %d", now, before)
		}
		return nil
	})
}

//go:build long

package app

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/natstest"
)

// Two readers of one stream see different heads, simulated by a second server that
// continues from a copy of the first one's disk. The standby reads the old head; the conditions
// remain those of the leader, which reads the new one.
func TestStreamWithTwoHeads(t *testing.T) {
	var store string
	f := newFixture(t, func(o *natstest.Options) { store = o.StoreDir })
	f.start()
	o, u, flips := f.available()

	f.stopNATS()
	fork := filepath.Join(t.TempDir(), "nats")
	if err := os.CopyFS(fork, os.DirFS(store)); err != nil {
		t.Fatal(err)
	}
	f.startNATS()
	other := natstest.Start(t, func(o *natstest.Options) { o.StoreDir = fork })
	f.urls[Name] = other.URL()
	second := f.start()
	expect.Eventually(t, expect.Long, func() error {
		if !second.conn.Connected() {
			return fmt.Errorf("the standby is not connected")
		}
		return nil
	})
	o.observe(u, 1)
	flips.want(t, conditions.TypeAvailable, "True", "False")
	expect.Never(t, 15*time.Second, func() error {
		if got := flips.of(conditions.TypeAvailable); got != "[True False]" {
			return fmt.Errorf("Available was %s", got)
		}
		if held := value(t, second, "flotilla_status_lease_held"); held != 0 {
			return fmt.Errorf("the standby holds the lease")
		}
		return nil
	})
}

package ingest

import (
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// errNoQuorum says that what the stream's server holds may be old.
var errNoQuorum = errors.New("the stream has no leader with a majority")

// lately is within when a leader hears from each of its followers: they answer every second.
const lately = 5 * time.Second

// quorate says whether the answer came from a leader that hears a majority of the
// stream's copies. A server that is cut off answers too, as the leader for a while and
// then for a stream without one, with what it had before.
func quorate(c *jetstream.ClusterInfo) bool {
	switch {
	case c == nil:
		return true // a server without a cluster
	case c.Leader == "":
		return false
	case len(c.Replicas) == 0:
		return true // the only copy
	}
	heard := 1
	for _, r := range c.Replicas {
		if !r.Offline && r.Active < lately {
			heard++
		}
	}
	return 2*heard > len(c.Replicas)+1
}

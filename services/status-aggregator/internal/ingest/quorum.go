package ingest

import (
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// errNoQuorum reports that the server of the stream may return stale data.
var errNoQuorum = errors.New("the stream has no leader with a majority")

// maxContactAge is the maximum age of a follower's last contact: followers respond every second.
const maxContactAge = 5 * time.Second

// hasQuorum reports whether the response came from a leader in contact with a majority of the
// replicas. A partitioned server also responds, first as the leader and then for a stream
// without one, with stale data.
func hasQuorum(c *jetstream.ClusterInfo) bool {
	switch {
	case c == nil:
		return true // a server without a cluster
	case c.Leader == "":
		return false
	case len(c.Replicas) == 0:
		return true // the only copy
	}
	responding := 1
	for _, r := range c.Replicas {
		if !r.Offline && r.Active < maxContactAge {
			responding++
		}
	}
	return 2*responding > len(c.Replicas)+1
}

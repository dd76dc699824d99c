package ingest

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

func TestHasQuorum(t *testing.T) {
	fresh, old := &jetstream.PeerInfo{Active: time.Second}, &jetstream.PeerInfo{Active: 20 * time.Second}
	offline := &jetstream.PeerInfo{Active: time.Second, Offline: true}
	tests := map[string]struct {
		replicas []*jetstream.PeerInfo
		want     bool
	}{
		"one copy":                         {nil, true},
		"three, all active":                {[]*jetstream.PeerInfo{fresh, fresh}, true},
		"three, one offline":               {[]*jetstream.PeerInfo{fresh, offline}, true},
		"three, the leader is partitioned": {[]*jetstream.PeerInfo{old, old}, false},
		"five, two inactive":               {[]*jetstream.PeerInfo{fresh, fresh, old, offline}, true},
		"five, one with the leader":        {[]*jetstream.PeerInfo{fresh, old, old, old}, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := hasQuorum(&jetstream.ClusterInfo{Leader: "n0", Replicas: tc.replicas}); got != tc.want {
				t.Errorf("got %v", got)
			}
		})
	}
	if hasQuorum(&jetstream.ClusterInfo{Replicas: []*jetstream.PeerInfo{fresh, fresh, fresh}}) {
		t.Error("a stream without a leader has a quorum")
	}
	if !hasQuorum(nil) {
		t.Error("a server without a cluster has no quorum")
	}
}

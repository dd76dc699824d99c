package ingest

import (
	"context"
	"errors"

	"github.com/go-logr/logr"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

// maxUndelivered is the number of probes in a row that find an undelivered heartbeat before the readers restart: a single
// one may be in flight.
const maxUndelivered = 2

// HasMissed reads the stream for a heartbeat that is newer than the last delivered one. It is
// the [liveness.Probe]. If heartbeats exist that were not delivered, twice in a row, the readers restart: their consumers are
// stuck.
func (i *Ingest) HasMissed(ctx context.Context, observer string) (bool, error) {
	subject, err := contract.HeartbeatSubject(i.cfg.Cluster, observer)
	if err != nil {
		return false, err
	}
	stream, err := i.cfg.Bus.JetStream().Stream(ctx, contract.StreamHeartbeats)
	if err != nil {
		return false, err
	}
	if !hasQuorum(stream.CachedInfo().Cluster) {
		return false, errNoQuorum
	}
	m, err := stream.GetLastMsgForSubject(ctx, subject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if len(m.Data) == 0 {
		return false, nil
	}
	if i.isStuck(observer, m.Sequence) {
		i.restartReaders(ctx)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	return m.Sequence > i.lastHeartbeats[observer], nil
}

// recordDelivered records a delivery of the heartbeat stream, which shows that its consumer is not stuck.
func (i *Ingest) recordDelivered(sequence uint64) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.delivered = max(i.delivered, sequence)
	clear(i.undelivered)
}

// isStuck records a heartbeat that a probe found, and reports whether the readers must restart.
func (i *Ingest) isStuck(observer string, sequence uint64) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if sequence <= i.delivered { // delivered, and rejected if it counts as missed
		delete(i.undelivered, observer)
		return false
	}
	if i.undelivered[observer]++; i.undelivered[observer] < maxUndelivered {
		return false
	}
	clear(i.undelivered)
	return true
}

// restartReaders restarts the readers of both streams, since their consumers are on the same servers.
func (i *Ingest) restartReaders(ctx context.Context) {
	logr.FromContextOrDiscard(ctx).Info("Heartbeats in the stream are not delivered, restarting the readers")
	for _, restart := range i.restarts {
		select {
		case restart <- struct{}{}:
		default: // requested already
		}
	}
}

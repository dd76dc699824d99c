package bus

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

// Interval of an observer's heartbeats, and TTL of its last one.
const (
	HeartbeatInterval = 10 * time.Second
	HeartbeatTTL      = 35 * time.Second
)

// HeaderUnacknowledged is a header of heartbeats with the same value as their field
// Unacknowledged: readers and observers of v1.0 support the header only.
const HeaderUnacknowledged = "Flotilla-Unacknowledged"

// Unacknowledged returns how many subjects of an observer are not acknowledged yet: the
// heartbeat's field, else its header; ok is false if both are missing.
func Unacknowledged(h contract.Heartbeat, header map[string][]string) (n int, ok bool) {
	if h.Unacknowledged != nil {
		return *h.Unacknowledged, *h.Unacknowledged >= 0
	}
	values := header[HeaderUnacknowledged]
	if len(values) == 0 {
		return 0, false
	}
	n, err := strconv.Atoi(values[0])
	return n, err == nil && n >= 0
}

// HeartbeatPublisher publishes a heartbeat of an observer every ten seconds. It drops a
// heartbeat that cannot be sent: the next one is more recent. The server removes the last
// heartbeat if none has followed for [HeartbeatTTL].
type HeartbeatPublisher struct {
	conn        *Conn
	cluster     string
	observer    contract.Observer
	epoch       func() int64
	reconnected chan struct{}
	sequence    uint64
}

// NewHeartbeatPublisher returns the HeartbeatPublisher of one observer in one cluster; epoch is
// usually [ObservationPublisher.Epoch].
func NewHeartbeatPublisher(conn *Conn, cluster string, observer contract.Observer, epoch func() int64) *HeartbeatPublisher {
	return &HeartbeatPublisher{conn: conn, cluster: cluster, observer: observer, epoch: epoch, reconnected: make(chan struct{}, 1)}
}

// Start implements manager.Runnable of controller-runtime; see [HeartbeatPublisher.Run].
func (h *HeartbeatPublisher) Start(ctx context.Context) error { return h.Run(ctx) }

// Run publishes heartbeats until ctx ends: at once, every [HeartbeatInterval], and on each reconnect.
func (h *HeartbeatPublisher) Run(ctx context.Context) error {
	h.conn.OnReconnect(func() {
		select {
		case h.reconnected <- struct{}{}:
		default:
		}
	})
	ticker := h.conn.cfg.Clock.NewTicker(HeartbeatInterval)
	defer ticker.Stop()
	for {
		if h.conn.Connected() {
			if err := h.publish(ctx); err != nil && ctx.Err() == nil {
				h.conn.log.V(1).Info("Failed to publish heartbeat", "cause", err.Error())
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
		case <-h.reconnected:
		}
	}
}

func (h *HeartbeatPublisher) publish(ctx context.Context) error {
	subject, err := contract.HeartbeatSubject(h.cluster, h.observer.Name)
	if err != nil {
		return err
	}
	h.sequence++
	now, epoch, unacknowledged := h.conn.cfg.Clock.Now(), h.epoch(), h.conn.unacknowledged()
	id := fmt.Sprintf("%s.%s.%d.beat.%d", h.observer.Name, h.observer.Instance, epoch, h.sequence)
	body, err := contract.Encode(contract.Event{
		ID:       id,
		Source:   contract.Source(h.cluster, h.observer.Name),
		Time:     now,
		Sequence: contract.Sequence(epoch, h.sequence),
	}, contract.Heartbeat{
		Cluster:         h.cluster,
		Observer:        h.observer,
		Epoch:           epoch,
		IntervalSeconds: int(HeartbeatInterval / time.Second),
		SentAt:          now.UTC(),
		Unacknowledged:  &unacknowledged,
	})
	if err != nil {
		return err
	}
	header := map[string][]string{
		headerTTL:            {strconv.Itoa(int(HeartbeatTTL / time.Second))},
		HeaderUnacknowledged: {strconv.Itoa(unacknowledged)},
	}
	_, err = h.conn.Publish(ctx, Message{Subject: subject, ID: id, Body: body, Header: header})
	return err
}

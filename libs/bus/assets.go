package bus

import (
	"context"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Params are what an installation may choose about the streams and the bucket.
type Params struct {
	Replicas   int  // copies of each asset: 1, 3 or 5
	Production bool // forbid deleting and purging the lifecycle history

	ObservationsMaxBytes int64
	LifecycleMaxAge      time.Duration
	LifecycleMaxBytes    int64
	ChangesMaxAge        time.Duration
	ChangesMaxBytes      int64
	DeadLettersMaxAge    time.Duration
	DeadLettersMaxBytes  int64
	StatusMaxBytes       int64
}

// DefaultParams are those of the local stack: one copy, nothing forbidden.
func DefaultParams() Params { return Params{Replicas: 1} }

// Drift is one difference between an asset and what the contract wants.
type Drift struct {
	Asset, Field, Want, Got string
}

// Bootstrap creates or updates every asset; it may be run again and again.
func Bootstrap(ctx context.Context, js jetstream.JetStream, p Params) error { return nil }

// Verify lists each difference between the assets and p; none means that all is well.
func Verify(ctx context.Context, js jetstream.JetStream, p Params) ([]Drift, error) { return nil, nil }

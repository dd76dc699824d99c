package service

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/telemetry"
)

const (
	// busCloseTimeout is the timeout for publishing the last observations.
	busCloseTimeout = 5 * time.Second
	// assetsEvery is the interval between checks of the streams while the connection stays up.
	assetsEvery   = time.Minute
	assetsTimeout = 30 * time.Second
	flushPoll     = 20 * time.Millisecond
)

// busRun is the bus client of the process: the connection and what runs on it.
type busRun struct {
	conn         *bus.Conn
	publisher    *bus.Publisher
	observations *bus.ObservationPublisher
	observer     contract.Observer
	options      Options
	log          logr.Logger
	clock        clock.Clock

	term      atomic.Int64  // when this process began to lead, in milliseconds since 1970; 0 before
	connected chan struct{} // a server has been reached, first or again
	stop      context.CancelFunc
	done      sync.WaitGroup
}

// openBus connects without waiting; it returns nil when no bus is configured.
// The sender runs outside the manager, so that it outlives the controllers and
// can send their last messages.
func openBus(ctx context.Context, o Options, instance string, log logr.Logger, c clock.WithTicker) (*busRun, error) {
	if o.NATSURL == "" {
		return nil, nil
	}
	// Each line about the connection names the setting.
	cfg, err := o.Bus(o.service, log.WithName("bus").WithValues("setting", "--nats-url ("+envName("nats-url")+")"))
	if err != nil {
		return nil, err
	}
	cfg.Registerer, cfg.Clock = metrics.Registry, c
	conn, err := bus.Connect(cfg)
	if err != nil {
		return nil, settingError("nats-url", "cannot be used: %w", err)
	}
	b := &busRun{
		conn: conn, publisher: bus.NewPublisher(conn), options: o, log: log.WithName("bus"), clock: c,
		observer:  contract.Observer{Name: o.service, Instance: instance, Version: telemetry.BuildInfo().Version},
		connected: make(chan struct{}, 1),
	}
	b.observations = bus.NewObservationPublisher(b.publisher, o.ClusterName, b.observer, b.term.Load)

	ctx, b.stop = context.WithCancel(context.WithoutCancel(ctx))
	conn.OnReconnect(func() {
		select {
		case b.connected <- struct{}{}:
		default:
		}
	})
	b.background(ctx, "publisher", b.publisher.Run)
	b.background(ctx, "assets", b.watchAssets)
	return b, nil
}

// lead runs while this process is the leader: it starts the term and publishes heartbeats.
// Heartbeats belong to the observer, not to the process, so a standby publishes none.
func (b *busRun) lead() manager.Runnable {
	heartbeats := bus.NewHeartbeatPublisher(b.conn, b.options.ClusterName, b.observer, b.observations.Epoch)
	return manager.RunnableFunc(func(ctx context.Context) error {
		b.term.Store(b.clock.Now().UnixMilli())
		return heartbeats.Run(ctx)
	})
}

func (b *busRun) background(ctx context.Context, name string, run func(context.Context) error) {
	b.done.Go(func() {
		if err := run(ctx); err != nil && !errors.Is(err, context.Canceled) {
			b.log.Error(err, "Bus task ended", "task", name)
		}
	})
}

// close sends the remaining messages, for a few seconds at most.
func (b *busRun) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, busCloseTimeout)
	defer cancel()
	for b.publisher.Depth() > 0 && b.conn.Connected() && ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-b.clock.After(flushPoll):
		}
	}
	b.stop()
	b.done.Wait()
	if err := b.conn.Close(ctx); err != nil {
		return fmt.Errorf("close the bus: %w", err)
	}
	return nil
}

// watchAssets creates or verifies the streams at once, whenever a server was reached, and
// once a minute, until ctx ends. It logs when the result changes, not each time.
func (b *busRun) watchAssets(ctx context.Context) error {
	result := ""
	for {
		// Check at once too: the connection may have been up before the callback was added.
		if b.conn.Connected() {
			now := b.checkAssets(ctx)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if now != result {
				b.log.Info("Checked bus assets", "result", now)
				result = now
			}
			if now != assetsMatch {
				b.retryLater(ctx)
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-b.connected:
		case <-b.clock.After(assetsEvery):
		}
	}
}

const assetsMatch = "match the contract"

func (b *busRun) checkAssets(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, assetsTimeout)
	defer cancel()
	if b.options.BusBootstrap {
		if err := bus.Bootstrap(ctx, b.conn.JetStream(), bus.DefaultParams()); err != nil {
			return err.Error()
		}
		return assetsMatch
	}
	// Sizes, copies and deny flags are the installation's choice: any value is accepted.
	drifts, err := bus.Verify(ctx, b.conn.JetStream(), bus.Params{})
	if err != nil {
		return err.Error()
	}
	for _, d := range drifts {
		return fmt.Sprintf("%s: %s is %s, want %s (%d differences)", d.Asset, d.Field, d.Got, d.Want, len(drifts))
	}
	return assetsMatch
}

func (b *busRun) retryLater(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-b.clock.After(maxBackoff):
		select {
		case b.connected <- struct{}{}:
		default:
		}
	}
}

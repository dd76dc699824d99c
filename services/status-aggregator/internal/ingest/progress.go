package ingest

import (
	"context"
	"time"

	"github.com/go-logr/logr"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

func (i *Ingest) snapshot(ctx context.Context, n int) {
	i.mu.Lock()
	i.complete[n] = true
	done := i.caughtUpLocked()
	i.mu.Unlock()
	if !done {
		return
	}
	logr.FromContextOrDiscard(ctx).Info("Caught up with the bus", "objects", i.cfg.Model.Len())
	i.cfg.Silence.Listen(i.cfg.Clock.Now())
	i.cfg.OnCaughtUp()
}

func (i *Ingest) restart(ctx context.Context, n int, recreated bool) {
	i.mu.Lock()
	i.complete[n] = false
	if recreated {
		i.places = map[string]uint64{}
	}
	i.mu.Unlock()
	logr.FromContextOrDiscard(ctx).Info("Reads the stream anew", "stream", streams[n], "recreated", recreated)
	i.cfg.Silence.Deafen()
	i.cfg.Model.Retained()
	if recreated && streams[n] == contract.StreamObservations {
		i.cfg.Model.StreamRecreated()
		i.sweeper.restart()
	}
	i.cfg.OnRestart()
}

// reconnected makes what is known of the observers unsure: they may hold things back that we have not seen.
func (i *Ingest) reconnected() {
	i.cfg.OnRestart()
	i.Doubt()
}

// Doubt makes all that was heard so far count as heard before a pause: others may have
// written the conditions since, and known more.
func (i *Ingest) Doubt() {
	i.cfg.Silence.Deafen()
	i.cfg.Model.Retained()
	i.mu.Lock()
	done := i.caughtUpLocked()
	i.mu.Unlock()
	if done {
		i.cfg.Silence.Listen(i.cfg.Clock.Now())
		i.cfg.OnCaughtUp()
	}
}

// watchLink makes the silence ours while the connection is down.
func (i *Ingest) watchLink(ctx context.Context) error {
	ticker := i.cfg.Clock.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
			if !i.cfg.Bus.Connected() {
				i.cfg.Silence.Deafen()
			}
		}
	}
}

func (i *Ingest) caughtUpLocked() bool {
	for _, c := range i.complete {
		if !c {
			return false
		}
	}
	return true
}

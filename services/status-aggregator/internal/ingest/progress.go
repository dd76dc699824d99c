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
	i.cfg.Liveness.SetConnected(i.cfg.Clock.Now())
	i.cfg.OnCaughtUp()
}

func (i *Ingest) restart(ctx context.Context, n int, recreated bool) {
	i.mu.Lock()
	i.complete[n] = false
	if recreated {
		i.lastHeartbeats = map[string]uint64{}
	}
	i.mu.Unlock()
	logr.FromContextOrDiscard(ctx).Info("Restarting to read the stream", "stream", streams[n], "recreated", recreated)
	i.cfg.Liveness.SetDisconnected()
	i.cfg.Model.Retained()
	if recreated && streams[n] == contract.StreamObservations {
		i.cfg.Model.StreamRecreated()
	}
	i.cfg.OnRestart()
}

// reconnected marks all observers as unconfirmed: they may have pending observations that were not received.
func (i *Ingest) reconnected() {
	i.cfg.OnRestart()
	i.MarkUnconfirmed()
}

// MarkUnconfirmed marks all received observations as retained: other processes may since have written the
// conditions from newer state.
func (i *Ingest) MarkUnconfirmed() {
	i.cfg.Liveness.SetDisconnected()
	i.cfg.Model.Retained()
	i.mu.Lock()
	done := i.caughtUpLocked()
	i.mu.Unlock()
	if done {
		i.cfg.Liveness.SetConnected(i.cfg.Clock.Now())
		i.cfg.OnCaughtUp()
	}
}

// watchLink marks the tracker as disconnected while the connection is down.
func (i *Ingest) watchLink(ctx context.Context) error {
	ticker := i.cfg.Clock.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
			i.checkLink()
		}
	}
}

func (i *Ingest) checkLink() {
	if i.cfg.Bus.Connected() {
		return
	}
	i.cfg.Liveness.SetDisconnected()
	if i.cfg.Bus.Connected() {
		i.MarkUnconfirmed() // reconnected in between: no other call marks the tracker as connected
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

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
	i.mu.Unlock()
	if i.connect() {
		logr.FromContextOrDiscard(ctx).Info("Caught up with the bus", "objects", i.cfg.Model.Len())
	}
}

// interrupt marks the tracker as disconnected while a stream is not read: its reader may return much later than that of
// the other one.
func (i *Ingest) interrupt(ctx context.Context, n int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.complete[n] {
		logr.FromContextOrDiscard(ctx).Info("Interrupted, the operators write conditions until the stream is read again", "stream", streams[n])
	}
	i.complete[n] = false
	i.cfg.Liveness.SetDisconnected()
}

// connect marks the tracker as connected if both snapshots are complete, and reports whether they are.
func (i *Ingest) connect() bool {
	i.mu.Lock()
	done := i.caughtUpLocked()
	if done {
		i.cfg.Liveness.SetConnected(i.cfg.Clock.Now())
	}
	i.mu.Unlock()
	if done {
		i.cfg.OnCaughtUp()
	}
	return done
}

func (i *Ingest) restart(ctx context.Context, n int, recreated bool) {
	logr.FromContextOrDiscard(ctx).Info("Restarting to read the stream", "stream", streams[n], "recreated", recreated)
	i.cfg.Model.Retained()
	switch {
	case !recreated:
	case streams[n] == contract.StreamObservations:
		i.cfg.Model.StreamRecreated()
	case streams[n] == contract.StreamHeartbeats:
		i.mu.Lock()
		clear(i.lastHeartbeats)
		i.delivered = 0
		i.mu.Unlock()
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
	i.connect()
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

package app

import (
	"context"

	"github.com/go-logr/logr"
)

// starter runs until its context ends.
type starter interface {
	Start(ctx context.Context) error
}

// runnable adds the logger that the manager's context lacks, and selects whether the part runs on the leader only.
type runnable struct {
	part       starter
	log        logr.Logger
	leaderOnly bool
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (r runnable) NeedLeaderElection() bool { return r.leaderOnly }

// Start runs the part.
func (r runnable) Start(ctx context.Context) error {
	return r.part.Start(logr.NewContext(ctx, r.log))
}

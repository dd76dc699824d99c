package aggregator

import (
	"context"

	"github.com/go-logr/logr"
)

// starter is a part that runs until its context ends.
type starter interface {
	Start(ctx context.Context) error
}

// runnable gives a part the logger that the manager's context lacks, and says where it runs.
type runnable struct {
	part       starter
	log        logr.Logger
	leaderOnly bool
}

// NeedLeaderElection is what the manager asks.
func (r runnable) NeedLeaderElection() bool { return r.leaderOnly }

// Start runs the part.
func (r runnable) Start(ctx context.Context) error {
	return r.part.Start(logr.NewContext(ctx, r.log))
}

package main

import (
	"context"

	"github.com/flotilla-dev/flotilla/test/stack/benchlab"
)

// small creates 50 Supersets, then 50 more, and watches the hundred do nothing for a minute.
func small(ctx context.Context, l *benchlab.Lab, f *benchlab.Figures) error {
	cost, err := create(ctx, l, 0, 50)
	if err != nil {
		return err
	}
	f.Created(50, cost)
	if _, err := create(ctx, l, 50, 100); err != nil {
		return err
	}
	idle, err := l.Idle(ctx)
	if err != nil {
		return err
	}
	f.Idle(100, idle)
	if l.WithAggregator() {
		return nil
	}
	return rawDeployments(ctx, l, 50, f)
}

// large creates 500 Supersets at once.
func large(ctx context.Context, l *benchlab.Lab, f *benchlab.Figures) error {
	cost, err := create(ctx, l, 0, 500)
	if err != nil {
		return err
	}
	f.Created(500, cost)
	rss, err := l.RSS()
	if err != nil {
		return err
	}
	f.Report("rss_mb_at_500", rss/1e6, "MB")
	return nil
}

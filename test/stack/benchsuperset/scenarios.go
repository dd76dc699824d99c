package main

import (
	"context"
	"fmt"
	"os"
	"time"
)

// small creates 50 Supersets, then 50 more, and watches the hundred do nothing for a minute.
func small(ctx context.Context, l *lab, f *figures) error {
	cost, err := l.create(ctx, 50)
	if err != nil {
		return err
	}
	f.created(50, cost)
	if _, err := l.create(ctx, 50); err != nil {
		return err
	}
	idle, err := l.measure(ctx, func(ctx context.Context) error { return pause(ctx, time.Minute) })
	if err != nil {
		return err
	}
	f.idle(100, idle)
	if l.aggregator != nil {
		return nil
	}
	return l.rawDeployments(ctx, 50, f)
}

// large creates 500 Supersets at once.
func large(ctx context.Context, l *lab, f *figures) error {
	cost, err := l.create(ctx, 500)
	if err != nil {
		return err
	}
	f.created(500, cost)
	rss, err := l.operator.rss()
	if err != nil {
		return err
	}
	f.report("superset.rss_mb_at_500", rss/1e6, "MB")
	return nil
}

// pause waits for as long as a measurement takes.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// note tells a person what is going on.
func note(format string, args ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", args...)
}

package main

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/flotilla-dev/flotilla/libs/testkit/controlplane"
)

// controlPlane measures from nothing to a cluster that answers, with its nodes ready.
func controlPlane(ctx context.Context) (err error) {
	tools, err := controlplane.Find()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "flotilla-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	start := time.Now()
	cluster, err := tools.Create(ctx, controlplane.Config{Name: "bench", Dir: dir})
	if err != nil {
		return err
	}
	report("controlplane_start", time.Since(start).Seconds(), "s")
	return cluster.Delete(context.WithoutCancel(ctx))
}

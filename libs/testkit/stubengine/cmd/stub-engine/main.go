// Command stub-engine runs the stub engine (package server) as a process, without a configuration file. It is ready
// immediately.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/flotilla-dev/flotilla/libs/testkit/stubengine/server"
)

func main() {
	o := server.Options{Logf: logf, DataDir: os.TempDir()}
	flag.StringVar(&o.Query, "query-address", "127.0.0.1:3473", "address for queries")
	flag.StringVar(&o.Health, "health-address", "127.0.0.1:8122", "address for probes and control requests")
	flag.StringVar(&o.Metrics, "metrics-address", "127.0.0.1:9090", "address for metrics")
	flag.DurationVar(&o.Grace, "grace", time.Minute, "time for queries to finish after SIGTERM")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	err := server.Run(ctx, o)
	stop()
	if err != nil {
		logf("%v", err)
		os.Exit(1)
	}
}

func logf(format string, args ...any) { slog.Info(fmt.Sprintf(format, args...)) }

// Command stack runs Flotilla's local stack: a real Kubernetes control plane with simulated nodes, NATS with
// JetStream, MySQL and the services, all of them on loopback and all of them gone after `stack down`. The Makefile's
// up, down, status, logs and tools call it; run it without arguments for the rest.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/flotilla-dev/flotilla/tools/stack/internal/command"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	code := command.Main(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

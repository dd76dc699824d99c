// Command stack runs Flotilla's local stack: a real Kubernetes control plane with simulated nodes, NATS with
// JetStream, MySQL and the services, all on loopback. `stack down` removes everything. The targets up, down, status, logs
// and tools of the Makefile call it; run it without arguments to list all commands.
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

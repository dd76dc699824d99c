// Command gateway is the stand-in for Envoy, under the command line that the engine operator gives it:
// envoy --config-path FILE --concurrency N --disable-hot-restart.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/pflag"

	"github.com/flotilla-dev/flotilla/test/e2e/standin/gateway"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "gateway:", err)
		os.Exit(1) //nolint:gocritic // the process ends, and its signals with it
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	f := pflag.NewFlagSet("envoy", pflag.ContinueOnError)
	path := f.StringP("config-path", "c", "", "configuration file")
	mode := f.String("mode", "serve", "serve, or validate to read the configuration and end")
	f.Int("concurrency", 0, "accepted and not used")
	f.Bool("disable-hot-restart", false, "accepted and not used")
	if err := f.Parse(args); err != nil {
		return err
	}
	config, err := gateway.Read(*path)
	if err != nil || *mode == "validate" {
		return err
	}
	// Names are complete: without the dot the search list of the pod would be gone through first.
	lookup := func(ctx context.Context, network, host string) ([]netip.Addr, error) {
		return net.DefaultResolver.LookupNetIP(ctx, network, host+".")
	}
	return gateway.Run(ctx, config, lookup, log.New(out, "", 0).Printf)
}

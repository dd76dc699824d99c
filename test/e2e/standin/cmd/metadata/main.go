// Command metadata is the stand-in metadata service, under the command line of a real one:
// dedicated-pensieve --config FILE.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/pflag"

	"github.com/flotilla-dev/flotilla/test/e2e/standin/metadata"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "metadata:", err)
		os.Exit(1) //nolint:gocritic // the process ends, and its signals with it
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	f := pflag.NewFlagSet("dedicated-pensieve", pflag.ContinueOnError)
	path := f.String("config", "/configs/config.yaml", "configuration file")
	if err := f.Parse(args); err != nil {
		return err
	}
	config, err := metadata.Read(*path)
	if err != nil {
		return err
	}
	user, password, err := metadata.Credentials(os.Getenv)
	if err != nil {
		return err
	}
	return metadata.Run(ctx, config, user, password, log.New(out, "", 0).Printf)
}

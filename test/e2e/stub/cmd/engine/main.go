// Command engine runs the engine stub with the command line of a real engine:
// firebolt server --node N --data-dir DIR.
package main

import (
	"context"
	"errors"
	"io"
	"log" //nolint:depguard // its Printf is safe for concurrent use
	"os"

	"github.com/spf13/pflag"

	"github.com/flotilla-dev/flotilla/libs/testkit/stubengine/server"
	"github.com/flotilla-dev/flotilla/test/e2e/stub/engine"
	"github.com/flotilla-dev/flotilla/test/e2e/stub/internal/command"
)

func main() { command.Main("engine", run) }

func run(ctx context.Context, args []string, out io.Writer) error {
	o := server.Options{Logf: log.New(out, "", 0).Printf}
	f := pflag.NewFlagSet("firebolt server", pflag.ContinueOnError)
	node := f.Int("node", 0, "index of this node in the configuration")
	f.StringVar(&o.DataDir, "data-dir", "", "directory of local data, with config.yaml")
	f.StringVar(&o.Query, "query-address", ":3473", "listen address for queries")
	f.StringVar(&o.Health, "health-address", ":8122", "listen address for probes")
	f.StringVar(&o.Metrics, "metrics-address", ":9090", "listen address for metrics")
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() != 1 || f.Arg(0) != "server" {
		return errors.New("usage: firebolt server --node N --data-dir DIR")
	}
	return engine.Run(ctx, *node, os.Getenv("STUB_VERSION"), o)
}

// Command metadata runs the stub of the metadata service with the command line of the real one:
// dedicated-pensieve --config FILE.
package main

import (
	"context"
	"io"
	"log" //nolint:depguard // its Printf is safe for concurrent use
	"os"

	"github.com/spf13/pflag"

	"github.com/flotilla-dev/flotilla/test/e2e/stub/internal/command"
	"github.com/flotilla-dev/flotilla/test/e2e/stub/metadata"
)

func main() { command.Main("metadata", run) }

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

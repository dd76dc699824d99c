// Command fireboltsdk prints the directory of Firebolt's own Python client. It first installs it if the cache directory
// lacks it.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/flotilla-dev/flotilla/libs/testkit/fireboltsdk"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	dir, err := fireboltsdk.Install(ctx, func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) })
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "fireboltsdk:", err)
		os.Exit(1)
	}
	fmt.Println(dir)
}

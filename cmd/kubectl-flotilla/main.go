package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	// Authentication plugins for kubeconfigs.
	_ "k8s.io/client-go/plugin/pkg/client/auth"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/flotilla-dev/flotilla/cmd/kubectl-flotilla/internal/browser"
	"github.com/flotilla-dev/flotilla/cmd/kubectl-flotilla/internal/cli"
	"github.com/flotilla-dev/flotilla/cmd/kubectl-flotilla/internal/printer"
)

func main() {
	os.Exit(run())
}

// interruptible returns a context that the first signal cancels. A second one terminates the process, in case a command does
// not end with its context.
func interruptible() (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

func run() int {
	ctx, stop := interruptible()
	defer stop()
	// The commands report errors themselves; libraries must not log them too.
	utilruntime.ErrorHandlers = nil
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	command := cli.New(&cli.App{
		Streams: genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr},
		Clock:   clock.RealClock{},
		Browse:  browser.Open,
	})
	if err := command.ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "error:", printer.Sanitize(err.Error()))
		return 1
	}
	return 0
}

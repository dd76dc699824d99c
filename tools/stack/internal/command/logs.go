package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"golang.org/x/term"

	"github.com/flotilla-dev/flotilla/libs/testkit/proc"
)

// logs prints the end of a log; on a terminal or with follow it continues until interrupted.
func (a *app) logs(ctx context.Context, args []string, follow bool) error {
	known := a.logFiles()
	if !anyExists(slices.Collect(maps.Values(known))) {
		return errors.New("the stack is down and has no logs; start it with `make up`")
	}
	if len(args) != 1 || known[args[0]] == "" {
		return fmt.Errorf("name one log, for example `make logs S=nats`: %s", list(slices.Sorted(maps.Keys(known))))
	}
	if !anyExists([]string{known[args[0]]}) {
		return fmt.Errorf("%s has no log yet", args[0])
	}
	tail := []string{"-n", "200", known[args[0]]}
	if follow || isTerminal(a.out) {
		tail = append([]string{"-f"}, tail...)
	}
	cmd := proc.Group(ctx, a.env.Checkout.Root, "tail", tail...)
	cmd.Stdout, cmd.Stderr = a.out, os.Stderr
	if err := cmd.Run(); err != nil && ctx.Err() == nil {
		return fmt.Errorf("show the log of %s: %w", args[0], err)
	}
	return nil
}

func (a *app) logFiles() map[string]string {
	known := map[string]string{}
	all, _ := a.all()
	for _, part := range all {
		maps.Copy(known, part.Logs())
	}
	return known
}

func anyExists(files []string) bool {
	return slices.ContainsFunc(files, func(file string) bool {
		_, err := os.Stat(file)
		return err == nil
	})
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	return term.IsTerminal(int(file.Fd()))
}

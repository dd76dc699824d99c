package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"time"

	"golang.org/x/term"
)

// tailLines is the number of lines to print before following a log.
const tailLines = 200

// logs prints the end of a log; on a terminal or with follow it continues until interrupted.
func (a *app) logs(ctx context.Context, args []string, follow bool) (err error) {
	known := a.logFiles()
	if !anyExists(slices.Collect(maps.Values(known))) {
		return errors.New("the stack is down and has no logs; start it with `make up`")
	}
	if len(args) != 1 || known[args[0]] == "" {
		return fmt.Errorf("name one log, for example `make logs S=nats`: %s", list(slices.Sorted(maps.Keys(known))))
	}
	file, err := os.Open(known[args[0]])
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%s has no log yet", args[0])
	}
	if err != nil {
		return fmt.Errorf("open the log of %s: %w", args[0], err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	data, err := io.ReadAll(file)
	if err != nil {
		return fmt.Errorf("read the log of %s: %w", args[0], err)
	}
	if _, err := a.out.Write(lastLines(data, tailLines)); err != nil {
		return fmt.Errorf("show the log of %s: %w", args[0], err)
	}
	if !follow && !isTerminal(a.out) {
		return nil
	}
	return a.follow(ctx, file)
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

func (a *app) follow(ctx context.Context, file io.Reader) error {
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := io.Copy(a.out, file); err != nil {
			return fmt.Errorf("follow the log: %w", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func lastLines(data []byte, n int) []byte {
	end := len(bytes.TrimRight(data, "\n"))
	for i := end - 1; i >= 0; i-- {
		if data[i] != '\n' {
			continue
		}
		if n--; n == 0 {
			return data[i+1:]
		}
	}
	return data
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	return term.IsTerminal(int(file.Fd()))
}

package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
)

const stuckCommand = "FLOTILLA_TEST_STUCK_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(stuckCommand) == "" {
		os.Exit(m.Run())
	}
	ctx, stop := interruptible()
	defer stop()
	fmt.Println("started")
	<-ctx.Done()
	fmt.Println("interrupted")
	<-time.After(time.Minute) // does not end with its context
}

func TestSecondSignalTerminatesProcess(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), program)
	command.Env = append(os.Environ(), stuckCommand+"=1")
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for _, want := range []string{"started", "interrupted"} {
		if !lines.Scan() || lines.Text() != want {
			t.Fatalf("got %q, %v, want %q", lines.Text(), lines.Err(), want)
		}
		if err := command.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	expect.Eventually(t, expect.Long, func() error {
		select {
		case err := <-ended:
			if err == nil || err.Error() != "signal: terminated" {
				t.Errorf("got %v, want the end by a signal", err)
			}
			return nil
		default: // the previous signal may have come before the first one had been handled
			return cmp.Or(command.Process.Signal(syscall.SIGTERM), errors.New("the process still runs"))
		}
	})
}

package benchlab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/flotilla-dev/flotilla/libs/testkit/proc"
)

// program is a running process of the lab.
type program struct {
	name string
	pid  int
	log  string // file
	done chan struct{}
	err  error // why it ended; read it after done
	// dismissed says that it may end from now on.
	dismissed atomic.Bool
}

// start runs a program with its output in a file. The marker in its environment is what ends it in the end.
func start(name, log string, env []string, args ...string) (*program, error) {
	file, err := os.Create(log)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	cmd := exec.Command(args[0], args[1:]...) // outlives no context: the watchdog ends it
	cmd.Env = append(clean(os.Environ()), env...)
	cmd.Stdout, cmd.Stderr = file, file
	// Ctrl-C goes to the benchmark, which ends its parts in order.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	p := &program{name: name, pid: cmd.Process.Pid, log: log, done: make(chan struct{})}
	go func() {
		p.err = cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// clean drops what a sourced environment of another stack would tell the services.
func clean(env []string) []string {
	return slices.DeleteFunc(env, func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return name == "KUBECONFIG" || name == "NATS_URL" || strings.HasPrefix(name, "FLOTILLA_") && name != "FLOTILLA_CACHE"
	})
}

// ended is the error of a program that should still run.
func (p *program) ended() error {
	return fmt.Errorf("%s ended: %w\n%s", p.name, p.err, p.tail())
}

func (p *program) stop(ctx context.Context) error {
	select {
	case <-p.done:
		return nil
	default:
	}
	return proc.Terminate(ctx, p.pid, 20*time.Second)
}

// tail returns the end of the program's log.
func (p *program) tail() string {
	const size = 4000
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-size):])
}

// ticks is the unit of the times in /proc, a second's hundredth on every Linux (USER_HZ).
const ticks = 100

// cpuSeconds returns the processor time that a process has used.
func cpuSeconds(pid int) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("read processor time: %w", err)
	}
	// After the command's name in parentheses come the state and, as the 12th and 13th field, utime and stime.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	const user, system = 11, 12
	if len(fields) <= system {
		return 0, fmt.Errorf("read processor time: %q", text)
	}
	u, userErr := strconv.ParseFloat(fields[user], 64)
	s, systemErr := strconv.ParseFloat(fields[system], 64)
	if err := errors.Join(userErr, systemErr); err != nil {
		return 0, fmt.Errorf("read processor time: %w", err)
	}
	return (u + s) / ticks, nil
}

// rss returns the resident memory of the process in bytes.
func (p *program) rss() (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.pid))
	if err != nil {
		return 0, fmt.Errorf("read the memory of %s: %w", p.name, err)
	}
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	value, _, found := strings.Cut(rest, "kB")
	kib, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	if err != nil || !found {
		return 0, fmt.Errorf("read the memory of %s: no VmRSS: %w", p.name, err)
	}
	return kib * 1024, nil
}

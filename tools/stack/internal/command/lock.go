package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// lock serializes the commands that change the stack of a checkout. The kernel releases the lock when the process exits.
func (a *app) lock() (func() error, error) {
	if err := os.MkdirAll(a.env.Checkout.Local(), 0o750); err != nil {
		return nil, fmt.Errorf("create .local: %w", err)
	}
	file, err := os.OpenFile(a.env.Checkout.Local("lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the lock of the stack: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		err = errors.Join(errLocked{pid: a.holder()}, file.Close())
		return nil, err
	}
	if err := errors.Join(file.Truncate(0), write(file, strconv.Itoa(os.Getpid()))); err != nil {
		return nil, errors.Join(fmt.Errorf("record the holder of the lock: %w", err), file.Close())
	}
	return file.Close, nil
}

// errLocked is returned if another command is changing the stack.
type errLocked struct{ pid int }

func (e errLocked) Error() string {
	return fmt.Sprintf("another `make up` or `make down` of this checkout is running (process %d); wait for it, "+
		"or stop it with `make down`", e.pid)
}

// takeLock stops another `up` and waits for the lock: `down` has priority.
func (a *app) takeLock(ctx context.Context) (func() error, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for signaled := 0; ; {
		unlock, err := a.lock()
		var locked errLocked
		if !errors.As(err, &locked) {
			return unlock, err
		}
		// The holder has not recorded itself yet if the file is empty.
		if locked.pid > 1 && locked.pid != signaled {
			signaled = locked.pid
			a.info("stopping the running command (process %d)", locked.pid)
			if err := syscall.Kill(locked.pid, syscall.SIGTERM); err != nil && !errors.Is(err, syscall.ESRCH) {
				return nil, fmt.Errorf("stop process %d: %w", locked.pid, err)
			}
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-tick.C:
		}
	}
}

func (a *app) holder() int {
	data, err := os.ReadFile(a.env.Checkout.Local("lock"))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		return 0
	}
	return pid
}

func write(file *os.File, text string) error {
	_, err := file.WriteString(text)
	return err
}

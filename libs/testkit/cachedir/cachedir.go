// Package cachedir provides the machine-wide directory for artifacts that are expensive to create and identical for
// every checkout: built programs, unpacked servers. Processes lock it while they fill it.
package cachedir

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

const poll = 500 * time.Millisecond

// Path returns $FLOTILLA_CACHE or, if it is not set, flotilla in the user's cache directory. The path may not exist yet.
func Path() (string, error) {
	if dir := os.Getenv("FLOTILLA_CACHE"); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the cache directory (set FLOTILLA_CACHE): %w", err)
	}
	return filepath.Join(dir, "flotilla"), nil
}

// Lock waits for an exclusive lock on the file and returns the function that releases it. It creates the file, but not
// its directory. It calls waiting once if another process holds the lock. The kernel releases the lock when the process
// ends, so a killed holder does not block other processes.
func Lock(ctx context.Context, path string, waiting func()) (unlock func() error, err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the lock: %w", err)
	}
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for waited := false; ; waited = true {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return file.Close, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), file.Close())
		}
		if !waited {
			waiting()
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), file.Close())
		case <-tick.C:
		}
	}
}

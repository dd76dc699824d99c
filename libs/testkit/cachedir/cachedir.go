// Package cachedir provides the machine-wide directory for artifacts that are expensive to get and the same for every
// checkout: built programs, unpacked servers. Processes that fill it at the same time lock it.
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

// Path is $FLOTILLA_CACHE, else flotilla in the user's cache directory. It need not exist yet.
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

// Lock waits for an exclusive lock on the file, which it creates in an existing directory, and returns the function
// that releases it. It calls waiting once if another process holds the lock. The kernel releases the lock when the
// process ends, so a killed holder blocks no other process.
func Lock(ctx context.Context, path string, waiting func()) (unlock func() error, err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the lock: %w", err)
	}
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for told := false; ; told = true {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return file.Close, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), file.Close())
		}
		if !told {
			waiting()
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), file.Close())
		case <-tick.C:
		}
	}
}

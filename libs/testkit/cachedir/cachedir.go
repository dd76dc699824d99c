// Package cachedir is the folder on this machine for what is costly to get and the same for every checkout: built
// programs, unpacked servers. Processes that fill it at the same time take turns.
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

// Path is $FLOTILLA_CACHE, else flotilla in the user's cache folder. It need not exist yet.
func Path() (string, error) {
	if dir := os.Getenv("FLOTILLA_CACHE"); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the cache folder (set FLOTILLA_CACHE): %w", err)
	}
	return filepath.Join(dir, "flotilla"), nil
}

// Lock waits for an exclusive lock on the file, which it creates in a folder that exists, and returns what gives the
// lock back. It calls waiting once when somebody else has it. The lock goes with the process, so a killed holder blocks
// nobody.
func Lock(ctx context.Context, path string, waiting func()) (unlock func() error, err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // inside the cache folder
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

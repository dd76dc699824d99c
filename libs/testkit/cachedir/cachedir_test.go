package cachedir

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
)

func TestPathPrefersVariable(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("FLOTILLA_CACHE", dir)
	if got, err := Path(); err != nil || got != dir {
		t.Errorf("got %s, %v", got, err)
	}
	t.Setenv("FLOTILLA_CACHE", "")
	t.Setenv("XDG_CACHE_HOME", dir)
	if got, err := Path(); err != nil || got != filepath.Join(dir, "flotilla") {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestLockWaitsForFirstLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), ".lock")
	first, err := Lock(t.Context(), path, func() { t.Error("waited for a lock that is not held") })
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := Lock(ctx, path, cancel); !errors.Is(err, context.Canceled) {
		t.Errorf("the second one did not wait: %v", err)
	}
	waits, got := make(chan struct{}), make(chan error, 1)
	go func() {
		unlock, err := Lock(t.Context(), path, func() { close(waits) })
		if err == nil {
			err = unlock()
		}
		got <- err
	}()
	<-waits
	if err := first(); err != nil {
		t.Fatal(err)
	}
	if err := <-got; err != nil {
		t.Error(err)
	}
}

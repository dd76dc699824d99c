package command

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/flotilla-dev/flotilla/tools/stack/internal/checkout"
	"github.com/flotilla-dev/flotilla/tools/stack/internal/components"
)

// TestTakeLockSignalsNoUnknownHolder holds the lock without a pid in its file, as a command does that has just taken it.
// A signal to pid 0 would reach this test.
func TestTakeLockSignalsNoUnknownHolder(t *testing.T) {
	dir := t.TempDir()
	file, err := os.Create(filepath.Join(dir, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	a := &app{
		env:  &components.Env{Checkout: checkout.Checkout{Root: dir, Dir: dir}},
		info: func(format string, args ...any) { t.Errorf(format, args...) },
	}
	release := time.AfterFunc(300*time.Millisecond, func() { _ = file.Close() })
	defer release.Stop()
	unlock, err := a.takeLock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := unlock(); err != nil {
		t.Error(err)
	}
}

//go:build long

package app

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/natstest"
)

// smallDisk mounts a file system of a few megabytes; ok is false without permission.
func smallDisk(t *testing.T) (dir string, ok bool) {
	t.Helper()
	dir = t.TempDir()
	err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=24m")
	if errors.Is(err, syscall.EPERM) {
		fmt.Println("FAULT 10, errors of the disk: NOT RUN (only root may mount a file system)")
		return "", false
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir, true
}

// fillDisk writes until the disk is full.
func fillDisk(t *testing.T, path string) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	for size := 1 << 20; size > 0; {
		if _, err = file.Write(make([]byte, size)); err != nil {
			size /= 2
		}
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the disk is not full: %v", err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}

// The server's disk returns errors: the server assumes free space and cannot write. The
// aggregator releases its Lease, the operator writes the conditions, and no condition flips when
// the disk has space again and the server was restarted.
func TestServerDiskFails(t *testing.T) {
	disk, ok := smallDisk(t)
	if !ok {
		return
	}
	f := newFixture(t, func(o *natstest.Options) {
		o.StoreDir = filepath.Join(disk, "nats")
		o.JetStreamMaxStore = 8 << 30 // the space that it assumes
	})
	r := f.start()
	o, u, flips := f.available()

	fillFile := filepath.Join(disk, "filler")
	fillDisk(t, fillFile)
	seen := o.observe(u, 1)
	// Writes of other clients to the stream provoke the error earlier.
	expect.Eventually(t, 2*expect.Long, func() error {
		fillDisk(t, fillFile)
		_, err := f.conn.Publish(t.Context(), bus.Message{
			Subject: "flotilla.change.v1.test.ns.superset.a.updated", ID: time.Now().String(), Body: make([]byte, 32<<10),
		})
		if held := value(t, r, "flotilla_status_lease_held"); held != 0 {
			return fmt.Errorf("the lease is held, the last publish ended with: %w", err)
		}
		return nil
	})
	o.reportStandalone(u, seen)
	flips.want(t, conditions.TypeAvailable, "True", "False")
	renewed := f.lease().Spec.RenewTime

	if err := os.Remove(fillFile); err != nil {
		t.Fatal(err)
	}
	f.stopNATS()
	f.startNATS()
	f.leading(renewed.Time)
	o.observe(u, 2)
	flips.want(t, conditions.TypeAvailable, "True", "False", "True")
	flips.want(t, conditions.TypeDegraded, "False")
}

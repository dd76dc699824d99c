package superset_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/flotilla-dev/flotilla/libs/testkit/watchdog"
)

const buildTimeout = 10 * time.Minute // the first build downloads Debian packages

// scratch is the directory of the root file systems of all pods; marker is in the environment of their processes.
var scratch, marker string

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	if os.Geteuid() != 0 {
		fmt.Fprintln(os.Stderr, "the tests of the Superset stub run pods with their own root file system: run them as root on Debian")
		return 1
	}
	var err error
	if scratch, err = os.MkdirTemp("", "superset-stub-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := os.Chmod(scratch, 0o755); err != nil { // pods run as another user
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	marker = watchdog.Marker("FLOTILLA_TEST_SUPERSET", scratch)
	guard, err := watchdog.Start(watchdog.Cleanup{Marker: marker, Dir: scratch})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	status := m.Run()
	if err := guard.Release(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return status
}

// roots records the root file systems of the releases. Each is built on its first use.
var roots = struct {
	sync.Mutex
	made map[string]error
}{made: map[string]error{}}

// copyOf returns the path of a copy of an image's root file system.
func copyOf(t *testing.T, release string) string {
	t.Helper()
	source := filepath.Join(scratch, release)
	roots.Lock()
	defer roots.Unlock()
	err, made := roots.made[release]
	if !made {
		err = build(release, source)
		roots.made[release] = err
	}
	must(t, err)
	root := filepath.Join(scratch, fmt.Sprintf("%s-%d", release, time.Now().UnixNano()))
	must(t, command(t.Context(), "cp", "--archive", "--link", source, root))
	return root
}

func build(release, root string) error {
	ctx, cancel := context.WithTimeout(context.Background(), buildTimeout)
	defer cancel()
	script, args := "superset-stub", []string{root, release}
	if release == valkeyImage {
		script, args = valkeyImage, []string{root}
	}
	if err := command(ctx, filepath.Join(images, script, "root.sh"), args...); err != nil {
		return err
	}
	return devices(root)
}

// devices creates the devices that a container runtime provides and the programs open.
func devices(root string) error {
	if err := os.MkdirAll(filepath.Join(root, "dev/shm"), 0o755); err != nil {
		return err
	}
	if err := os.Chmod(filepath.Join(root, "dev/shm"), 0o777|fs.ModeSticky); err != nil {
		return err
	}
	for name, minor := range map[string]int{"null": 3, "urandom": 9} {
		path := filepath.Join(root, "dev", name)
		if err := syscall.Mknod(path, syscall.S_IFCHR|0o666, 1<<8|minor); err != nil {
			return fmt.Errorf("create device %s: %w", path, err)
		}
		if err := os.Chmod(path, 0o666); err != nil {
			return err
		}
	}
	return nil
}

func TestImageUserWritesOnlyTmp(t *testing.T) {
	root := copyOf(t, "6.0.0")
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(path, root)
		if name == "/dev" || name == "/tmp" {
			return fs.SkipDir
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if entry.Type()&fs.ModeSymlink == 0 && info.Mode().Perm()&0o022 != 0 {
			t.Errorf("%s is writable: %s", name, info.Mode())
		}
		if stat, ok := info.Sys().(*syscall.Stat_t); !ok || stat.Uid != 0 {
			t.Errorf("%s is not owned by root", name)
		}
		return nil
	})
	must(t, err)
}

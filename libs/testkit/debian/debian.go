// Package debian installs missing Debian packages that tests require. It requires root on Debian.
package debian

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/flotilla-dev/flotilla/libs/testkit/cachedir"
)

const timeout = 10 * time.Minute

// lockFile is shared with hack/ensure: apt-get does not wait for another apt-get that reads package lists.
const lockFile = "/run/lock/flotilla-apt.lock"

// Install installs packages with apt-get, without recommended packages. It calls progress before it changes the machine. The
// error gives the reason if the installation is not possible. The environment is added to that of apt-get.
func Install(ctx context.Context, progress func(format string, args ...any), environment []string, packages ...string) error {
	if _, err := os.Stat("/etc/debian_version"); err != nil {
		return errors.New("this is not Debian, so no package is installed")
	}
	if os.Geteuid() != 0 {
		return fmt.Errorf("not root, so no package is installed; run as root: apt-get install %s", strings.Join(packages, " "))
	}
	apt, err := exec.LookPath("apt-get")
	if err != nil {
		return errors.New("apt-get is not on PATH")
	}
	progress("installing the Debian packages %s with apt-get", strings.Join(packages, " and "))
	unlock, err := lock(ctx, progress)
	if err != nil {
		return err
	}
	return errors.Join(install(ctx, environment, apt, packages), unlock())
}

func lock(ctx context.Context, progress func(format string, args ...any)) (func() error, error) {
	if err := os.MkdirAll(filepath.Dir(lockFile), 0o755); err != nil { // the permissions that Debian uses
		return nil, fmt.Errorf("create the directory of the lock: %w", err)
	}
	return cachedir.Lock(ctx, lockFile, func() { progress("waiting for another apt-get") })
}

func install(ctx context.Context, environment []string, apt string, packages []string) error {
	install := append([]string{
		"install", "--yes", "--no-install-recommends",
		// Another process may be installing packages.
		"-o", "DPkg::Lock::Timeout=300",
	}, packages...)
	if run(ctx, environment, apt, install...) == nil {
		return nil
	}
	// The package lists of a fresh machine are empty or old.
	if err := run(ctx, environment, apt, "update", "-q"); err != nil {
		return err
	}
	return run(ctx, environment, apt, install...)
}

func run(ctx context.Context, environment []string, name string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = slices.Concat(os.Environ(), []string{"DEBIAN_FRONTEND=noninteractive"}, environment)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out)
	}
	return nil
}

package mysqlserver

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"time"
)

// debianPackages hold the server without a service that would start it on port 3306,
// and the client's programs, one of which the server's own set-up script runs.
var debianPackages = []string{"mariadb-server-core", "mariadb-client-core"}

const installTimeout = 10 * time.Minute

// installed installs the Debian package of MariaDB and goes on with the program that it brings.
func installed(ctx context.Context, cfg Config) (*Server, error) {
	if cfg.Flavour == MySQL {
		return nil, unavailable{}
	}
	if _, err := os.Stat("/etc/debian_version"); err != nil {
		return nil, unavailable{"this is not Debian, so no package is installed"}
	}
	if os.Geteuid() != 0 {
		return nil, unavailable{"not root, so no package is installed; run as root: apt-get install " + strings.Join(debianPackages, " ")}
	}
	apt, err := exec.LookPath("apt-get")
	if err != nil {
		return nil, unavailable{"apt-get is not on PATH"}
	}
	cfg.Say("no %s server found: installing the Debian packages %s with apt-get",
		cfg.Flavour.words(), strings.Join(debianPackages, " and "))
	if err := aptInstall(ctx, apt, debianPackages...); err != nil {
		return nil, unavailable{err.Error()}
	}
	return asProgram(ctx, cfg)
}

// aptInstall installs packages, with fresh lists when that fails: those of a new machine are empty or old.
func aptInstall(ctx context.Context, apt string, packages ...string) error {
	if err := aptInstallOnce(ctx, apt, packages); err == nil {
		return nil
	}
	if _, err := run(ctx, installTimeout, apt, "update", "-q"); err != nil {
		return err
	}
	return aptInstallOnce(ctx, apt, packages)
}

func aptInstallOnce(ctx context.Context, apt string, packages []string) error {
	args := append([]string{
		"DEBIAN_FRONTEND=noninteractive", apt, "install", "--yes", "--no-install-recommends",
		// Another test binary may be installing the same.
		"-o", "DPkg::Lock::Timeout=300",
	}, packages...)
	_, err := run(ctx, installTimeout, "env", args...)
	return err
}

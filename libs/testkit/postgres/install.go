package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	debianPackage  = "postgresql"
	installTimeout = 10 * time.Minute
	// versions is where Debian keeps the programs of each version, most of them outside PATH.
	versions = "/usr/lib/postgresql"
	// clusterConfig tells Debian's package whether to create and start a server of its own.
	clusterConfig = "/etc/postgresql-common/createcluster.conf"
)

// programs are those that a server and its clients need.
var programs = []string{"initdb", "postgres", "psql", "pg_dump"}

// folder returns the folder that holds all programs, after installing them where that can be done.
func folder(ctx context.Context) (string, error) {
	if dir := find(); dir != "" {
		return dir, nil
	}
	if err := install(ctx); err != nil {
		return "", fmt.Errorf("no PostgreSQL server: %s are neither in one folder of PATH nor below %s, and %w; "+
			"install PostgreSQL 13 or later", strings.Join(programs, ", "), versions, err)
	}
	if dir := find(); dir != "" {
		return dir, nil
	}
	return "", fmt.Errorf("the package %s is installed, but %s are not below %s", debianPackage, strings.Join(programs, ", "), versions)
}

func find() string {
	dirs := filepath.SplitList(os.Getenv("PATH"))
	found, err := filepath.Glob(filepath.Join(versions, "*", "bin"))
	if err == nil {
		slices.SortFunc(found, func(a, b string) int { return version(b) - version(a) })
		dirs = append(dirs, found...)
	}
	for _, dir := range dirs {
		if slices.ContainsFunc(programs, func(name string) bool { return !executable(filepath.Join(dir, name)) }) {
			continue
		}
		return dir
	}
	return ""
}

// version is that of a folder like /usr/lib/postgresql/15/bin, 0 when there is none.
func version(dir string) int {
	n, err := strconv.Atoi(filepath.Base(filepath.Dir(dir)))
	if err != nil {
		return 0
	}
	return n
}

func executable(path string) bool {
	_, err := exec.LookPath(path)
	return err == nil
}

// install installs Debian's package.
func install(ctx context.Context) error {
	if _, err := os.Stat("/etc/debian_version"); err != nil {
		return errors.New("this is not Debian, so no package is installed")
	}
	if os.Geteuid() != 0 {
		return errors.New("not root, so no package is installed (run as root: apt-get install " + debianPackage + ")")
	}
	apt, err := exec.LookPath("apt-get")
	if err != nil {
		return errors.New("apt-get is not on PATH")
	}
	say("no PostgreSQL found: installing the Debian package %s with apt-get", debianPackage)
	if err := withoutServer(); err != nil {
		return err
	}
	if aptInstall(ctx, apt) == nil {
		return nil
	}
	// The package lists of a fresh machine are empty or old.
	if err := run(ctx, apt, "update", "-q"); err != nil {
		return err
	}
	return aptInstall(ctx, apt)
}

// withoutServer keeps the package from starting a server on the usual port; what is there already stays.
func withoutServer() error {
	if _, err := os.Stat(clusterConfig); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(clusterConfig), 0o755); err != nil { //nolint:gosec // everybody may read /etc
		return fmt.Errorf("configure %s: %w", debianPackage, err)
	}
	if err := os.WriteFile(clusterConfig, []byte("create_main_cluster = false\n"), 0o644); err != nil { //nolint:gosec // as above
		return fmt.Errorf("configure %s: %w", debianPackage, err)
	}
	return nil
}

func aptInstall(ctx context.Context, apt string) error {
	return run(ctx, "env", "DEBIAN_FRONTEND=noninteractive", "UCF_FORCE_CONFFOLD=1",
		apt, "install", "--yes", "--no-install-recommends",
		// Another test binary may be installing the same.
		"-o", "DPkg::Lock::Timeout=300", debianPackage)
}

func run(ctx context.Context, name string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, installTimeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput() //nolint:gosec // fixed programs with our own arguments
	if err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out)
	}
	return nil
}

// say goes past go test's buffering: an installation must not go unnoticed.
func say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "postgres: "+format+"\n", args...)
}

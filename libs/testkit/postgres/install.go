package postgres

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flotilla-dev/flotilla/libs/testkit/debian"
)

const (
	debianPackage  = "postgresql"
	installTimeout = 10 * time.Minute
	// versions is Debian's directory of the programs of each version, most of which are not on PATH.
	versions = "/usr/lib/postgresql"
	// clusterConfig configures whether Debian's package creates and starts a default server.
	clusterConfig = "/etc/postgresql-common/createcluster.conf"
)

// programs are the required programs of the server and its clients.
var programs = []string{"initdb", "postgres", "psql", "pg_dump"}

// binDir returns the directory that holds all programs, after installing them if possible.
func binDir(ctx context.Context) (string, error) {
	if dir := find(); dir != "" {
		return dir, nil
	}
	if err := install(ctx); err != nil {
		return "", fmt.Errorf("no PostgreSQL server: %s are neither in one directory of PATH nor below %s, and %w; "+
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

// version returns the version in the path of a directory like /usr/lib/postgresql/15/bin, or 0.
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
	if _, err := os.Stat("/etc/debian_version"); err == nil && os.Geteuid() == 0 {
		if err := withoutServer(); err != nil {
			return err
		}
	}
	return debian.Install(ctx, progress, []string{"UCF_FORCE_CONFFOLD=1"}, debianPackage)
}

// withoutServer prevents the package from starting a server on the default port. It does not change an existing file.
func withoutServer() error {
	if _, err := os.Stat(clusterConfig); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(clusterConfig), 0o755); err != nil { // /etc is world-readable
		return fmt.Errorf("configure %s: %w", debianPackage, err)
	}
	if err := os.WriteFile(clusterConfig, []byte("create_main_cluster = false\n"), 0o644); err != nil {
		return fmt.Errorf("configure %s: %w", debianPackage, err)
	}
	return nil
}

// progress bypasses the output buffering of go test: an installation must be visible at once.
func progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "postgres: "+format+"\n", args...)
}

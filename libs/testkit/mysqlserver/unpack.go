package mysqlserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/flotilla-dev/flotilla/libs/testkit/cachedir"
	"github.com/flotilla-dev/flotilla/libs/testkit/debian"
)

const (
	// mysqlSuite is the Debian suite that has MySQL; the stable suites have MariaDB only.
	mysqlSuite    = "sid"
	unpackTimeout = 10 * time.Minute
)

// mysqlPackages are the server with mysqlbinlog, and the other client programs.
var mysqlPackages = []string{"mysql-server-core", "mysql-client-core"}

// unpacked runs Debian's MySQL from a directory in the cache, without installing it: its libraries are newer than
// those of a stable Debian, so it runs on the dynamic loader of its own packages.
func unpacked(ctx context.Context, cfg Config) (*Server, error) {
	if cfg.Vendor != MySQL {
		return nil, unavailable{}
	}
	e, err := unpackedProgram(ctx, cfg, filepath.Join("usr", "sbin", "mysqld"))
	if err != nil {
		return nil, err
	}
	usr := filepath.Dir(filepath.Dir(e.path))
	e.with = append(e.with, "--basedir="+usr, "--lc-messages-dir="+filepath.Join(usr, "share", "mysql"))
	return programServer(cfg, e)
}

// unpackedProgram returns a program of the directory, which is filled once per machine.
func unpackedProgram(ctx context.Context, cfg Config, path string) (executable, error) {
	cache, err := cachedir.Path()
	if err != nil {
		return executable{}, err
	}
	dir := filepath.Join(cache, "mysql-"+mysqlSuite+"-with-clients")
	if _, err := os.Stat(dir); err != nil {
		if err := os.MkdirAll(cache, 0o755); err != nil {
			return executable{}, fmt.Errorf("create the cache directory: %w", err)
		}
		unlock, err := cachedir.Lock(ctx, dir+".lock", func() { cfg.Logf("waiting for another download of MySQL") })
		if err != nil {
			return executable{}, fmt.Errorf("lock the directory of MySQL: %w", err)
		}
		if err := errors.Join(unpack(ctx, cfg, dir), unlock()); err != nil {
			return executable{}, err
		}
	}
	e, err := inTree(dir, path)
	if err != nil {
		return executable{}, fmt.Errorf("%w; remove the directory to download it again", err)
	}
	return e, nil
}

// unpack fills the directory under another name and renames it, so that an existing directory is always complete.
// debootstrap only chooses, downloads and verifies the packages, so that unpacking needs neither chroot nor mounts.
func unpack(ctx context.Context, cfg Config, dir string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil // the process that held the lock has filled it
	}
	debootstrap, err := debootstrapProgram(ctx, cfg)
	if err != nil {
		return err
	}
	cfg.Logf("getting MySQL from Debian %s into %s (a minute, once)", mysqlSuite, dir)
	part, packages := dir+".part", dir+".packages"
	if err := errors.Join(os.RemoveAll(part), os.RemoveAll(packages)); err != nil {
		return fmt.Errorf("remove the remains of an earlier attempt: %w", err)
	}
	if _, err := run(ctx, unpackTimeout, debootstrap, "--download-only", "--variant=minbase",
		"--include="+strings.Join(mysqlPackages, ","), mysqlSuite, packages); err != nil {
		return unavailable{fmt.Sprintf("MySQL of Debian %s cannot be downloaded: %v", mysqlSuite, err)}
	}
	archives := filepath.Join(packages, "var", "cache", "apt", "archives")
	for _, name := range append([]string{"lib*"}, mysqlPackages...) {
		files, err := filepath.Glob(filepath.Join(archives, name+"_*.deb"))
		if err != nil || len(files) == 0 {
			return errors.Join(fmt.Errorf("no package %s in %s", name, archives), err)
		}
		for _, file := range files {
			if _, err := run(ctx, unpackTimeout, "dpkg-deb", "--extract", file, part); err != nil {
				return err
			}
		}
	}
	if err := os.RemoveAll(packages); err != nil {
		return fmt.Errorf("remove the packages of MySQL: %w", err)
	}
	if err := os.Rename(part, dir); err != nil {
		return fmt.Errorf("keep MySQL: %w", err)
	}
	return nil
}

// debootstrapProgram finds debootstrap and installs it if it is missing.
func debootstrapProgram(ctx context.Context, cfg Config) (string, error) {
	const how = "to get MySQL without Docker, run the tests once as root on Debian, or install mysql-server"
	if _, err := os.Stat("/etc/debian_version"); err != nil {
		return "", unavailable{"this is not Debian, so MySQL is not downloaded; " + how}
	}
	if os.Geteuid() != 0 {
		return "", unavailable{"not root, so MySQL is not downloaded; " + how}
	}
	if path := find("debootstrap"); path != "" {
		return path, nil
	}
	if err := debian.Install(ctx, cfg.Logf, nil, "debootstrap"); err != nil {
		return "", unavailable{err.Error()}
	}
	return find("debootstrap"), nil
}

// inTree finds a program in a tree of unpacked packages of any architecture.
func inTree(dir, path string) (executable, error) {
	loaders, err := filepath.Glob(filepath.Join(dir, "usr", "lib", "*-linux-gnu", "ld-linux*.so.*"))
	if err != nil || len(loaders) == 0 {
		return executable{}, errors.Join(fmt.Errorf("no dynamic loader in %s", dir), err)
	}
	program := filepath.Join(dir, path)
	if _, err := os.Stat(program); err != nil {
		return executable{}, fmt.Errorf("no %s in %s: %w", path, dir, err)
	}
	libraries := []string{filepath.Dir(loaders[0]), filepath.Join(dir, "usr", "lib", "mysql", "private")}
	charsets := filepath.Join(dir, "usr", "share", "mysql", "charsets")
	return executable{
		path:   program,
		vendor: MySQL,
		before: []string{loaders[0], "--library-path", strings.Join(libraries, ":")},
		with:   []string{"--character-sets-dir=" + charsets},
	}, nil
}

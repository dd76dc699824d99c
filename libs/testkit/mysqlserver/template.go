package mysqlserver

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/flotilla-dev/flotilla/libs/testkit/cachedir"
)

// initialize creates the data directory once. It fills it under another name and then renames it, so that an existing
// directory is always complete.
func (p *program) initialize(ctx context.Context) error {
	if _, err := os.Stat(p.data()); err == nil {
		return nil
	}
	template, err := p.template(ctx)
	if err != nil {
		return err
	}
	part := p.data() + ".part"
	if err := errors.Join(os.RemoveAll(part), os.MkdirAll(p.cfg.Dir, 0o700)); err != nil {
		return fmt.Errorf("clear the data directory: %w", err)
	}
	if _, err := run(ctx, initTimeout, "cp", "--archive", template, part); err != nil {
		return fmt.Errorf("copy an initialized data directory: %w", err)
	}
	return os.Rename(part, p.data())
}

// template returns the initialized data directory of the program in the cache. It is filled once per machine and program,
// since MySQL initializes one for seconds.
func (p *program) template(ctx context.Context) (string, error) {
	cache, err := cachedir.Path()
	if err != nil {
		return "", err
	}
	info, err := os.Stat(p.path)
	if err != nil {
		return "", fmt.Errorf("find the program: %w", err)
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d %d", p.path, info.Size(), info.ModTime().UnixNano()))
	dir := filepath.Join(cache, fmt.Sprintf("mysql-data-%x", sum[:6]))
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", fmt.Errorf("create the cache directory: %w", err)
	}
	unlock, err := cachedir.Lock(ctx, dir+".lock", func() { p.cfg.Logf("waiting for another initialization of a data directory") })
	if err != nil {
		return "", fmt.Errorf("lock the initialized data directory: %w", err)
	}
	return dir, errors.Join(p.fill(ctx, dir), unlock())
}

// fill initializes a data directory under another name and renames it.
func (p *program) fill(ctx context.Context, dir string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil // the process that held the lock has filled it
	}
	part := dir + ".part"
	if err := os.RemoveAll(part); err != nil {
		return fmt.Errorf("clear the data directory: %w", err)
	}
	if err := os.MkdirAll(part, 0o700); err != nil {
		return fmt.Errorf("create the data directory: %w", err)
	}
	name, args := p.command(), p.arguments("--no-defaults", "--initialize-insecure")
	if p.vendor == MariaDB {
		if name = find("mariadb-install-db", "mysql_install_db"); name == "" {
			return errors.New("mariadb-install-db is not on PATH; it belongs to the MariaDB server package")
		}
		args = []string{"--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db"}
	}
	args = append(args, "--datadir="+part)
	if _, err := run(ctx, initTimeout, name, append(args, asUser()...)...); err != nil {
		return fmt.Errorf("initialize the data directory: %w", err)
	}
	if err := os.RemoveAll(filepath.Join(part, "auto.cnf")); err != nil { // the UUID, which each server generates
		return fmt.Errorf("remove the UUID of the server: %w", err)
	}
	return os.Rename(part, dir)
}

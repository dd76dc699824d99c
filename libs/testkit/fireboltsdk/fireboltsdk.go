// Package fireboltsdk gives tests Firebolt's own Python client: firebolt-sdk of PyPI, pinned by version and hash with all
// that it requires in requirements.txt, and kept in the cache directory. pip installs it, so that its settings
// (PIP_INDEX_URL for a mirror, PIP_CERT, a proxy) apply.
package fireboltsdk

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flotilla-dev/flotilla/libs/testkit/cachedir"
)

//go:embed requirements.txt
var requirements []byte

const installTimeout = 5 * time.Minute

// Command returns a command that runs a Python program with the client. The test fails with advice when it cannot be
// installed.
func Command(t testing.TB, program string, args ...string) *exec.Cmd {
	t.Helper()
	dir, err := Install(t.Context(), t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "python3", append([]string{program}, args...)...)
	cmd.Env = append(os.Environ(), "PYTHONPATH="+dir)
	return cmd
}

// Install returns the directory with the client and its requirements, and makes it when the cache directory lacks it.
func Install(ctx context.Context, progress func(format string, args ...any)) (string, error) {
	cache, err := cachedir.Path()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(cache, 0o750); err != nil {
		return "", fmt.Errorf("create the cache directory: %w", err)
	}
	sum := sha256.Sum256(requirements)
	dir := filepath.Join(cache, "firebolt-sdk-"+hex.EncodeToString(sum[:])[:12])
	unlock, err := cachedir.Lock(ctx, dir+".lock", func() { progress("Waiting for another installation of firebolt-sdk") })
	if err != nil {
		return "", fmt.Errorf("lock the directory of firebolt-sdk: %w", err)
	}
	defer unlock() //nolint:errcheck // the lock goes with the process
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	progress("Installing firebolt-sdk from PyPI")
	if err := pip(ctx, dir); err != nil {
		return "", fmt.Errorf("install firebolt-sdk: %w; PyPI and pip (Debian: python3-pip) must be in reach "+
			"(PIP_INDEX_URL names a mirror)", err)
	}
	return dir, nil
}

func pip(ctx context.Context, dir string) error {
	part := dir + ".part"
	if err := os.RemoveAll(part); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, installTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "python3", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps",
		"--require-hashes", "--target", part, "--requirement", "/dev/stdin")
	cmd.Stdin = bytes.NewReader(requirements)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("python3 -m pip install: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return os.Rename(part, dir)
}

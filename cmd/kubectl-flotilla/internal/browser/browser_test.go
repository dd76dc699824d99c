package browser

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
)

// TestOpenKeepsAddressOffCommandLine replaces the opener with a program that records its arguments.
func TestOpenKeepsAddressOffCommandLine(t *testing.T) {
	bin, home := t.TempDir(), t.TempDir()
	recorded := filepath.Join(bin, "noted")
	opener := "xdg-open"
	if runtime.GOOS == "darwin" {
		opener = "open"
	}
	script := "#!/bin/sh\nprintf '%s' \"$*\" > " + recorded + ".part && mv " + recorded + ".part " + recorded + "\n"
	if err := os.WriteFile(filepath.Join(bin, opener), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv("HOME", home)
	t.Setenv("XDG_CACHE_HOME", home)
	const address = "http://127.0.0.1:1/S3CRET/?a=1&b=2"
	cleanup, err := Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	var argument string
	expect.Eventually(t, expect.Long, func() error {
		raw, err := os.ReadFile(recorded)
		argument = string(raw)
		return err
	})
	if strings.Contains(argument, "S3CRET") {
		t.Errorf("every user can read %q", argument)
	}
	page, err := os.ReadFile(argument)
	if err != nil || !strings.Contains(string(page), "0; url=http://127.0.0.1:1/S3CRET/?a=1&amp;b=2\"") {
		t.Errorf("the file redirects to %s, %v", page, err)
	}
	if info, err := os.Stat(argument); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("others can read the file: %v, %v", info, err)
	}
	if cleanup(); exists(argument) {
		t.Error("the file still exists")
	}
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

func TestOpenFailsWithoutOpener(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := Open(t.Context(), "http://127.0.0.1:1/"); err == nil || !strings.Contains(err.Error(), "on PATH") {
		t.Errorf("got %v", err)
	}
}

package debian_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flotilla-dev/flotilla/libs/testkit/debian"
)

// aptGet replaces apt-get with a script that records its calls and fails to install before an update. Without root,
// nothing may be installed.
func aptGet(t *testing.T) (calls func() string) {
	t.Helper()
	if os.Geteuid() != 0 {
		err := debian.Install(t.Context(), t.Logf, nil, "sl")
		if err == nil || !strings.Contains(err.Error(), "missing: sl") {
			t.Errorf("without root: %v", err)
		}
		return nil
	}
	dir := t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\necho \"$1 $EXTRA\" >> %[1]s/calls\n[ $1 = update ] && exec touch %[1]s/updated\n[ -e %[1]s/updated ]\n", dir)
	if err := os.WriteFile(filepath.Join(dir, "apt-get"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return func() string {
		text, err := os.ReadFile(filepath.Join(dir, "calls"))
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(strings.Fields(string(text)), " ")
	}
}

// TestInstallRunsOneAtATime starts several installs concurrently: apt-get does not wait for another update.
func TestInstallRunsOneAtATime(t *testing.T) {
	if aptGet(t) == nil {
		return
	}
	dir, _, _ := strings.Cut(os.Getenv("PATH"), ":")
	script := fmt.Sprintf("#!/bin/sh\nmkdir %[1]s/busy || exit 100\nsleep 0.05\nrmdir %[1]s/busy\n", dir)
	if err := os.WriteFile(filepath.Join(dir, "apt-get"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	const many = 5
	done := make(chan error, many)
	for range many {
		go func() { done <- debian.Install(t.Context(), t.Logf, nil, "one") }()
	}
	for range many {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func TestInstallUpdatesListsForMissingPackage(t *testing.T) {
	calls := aptGet(t)
	if calls == nil {
		return
	}
	var reported string
	err := debian.Install(t.Context(), func(format string, args ...any) { reported = fmt.Sprintf(format, args...) }, []string{"EXTRA=1"}, "one", "two")
	if err != nil || calls() != "update 1 install 1" {
		t.Errorf("apt-get was called for %q: %v", calls(), err)
	}
	if !strings.Contains(reported, "one two") {
		t.Errorf("reported %q", reported)
	}
}

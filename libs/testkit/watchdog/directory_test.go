package watchdog_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flotilla-dev/flotilla/libs/testkit/watchdog"
)

func TestReleaseRemovesDirectory(t *testing.T) {
	f, err := watchdog.NewDirectory(watchdog.Options{Prefix: "flotilla-folder-", Key: "FLOTILLA_FOLDER_TEST"})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(filepath.Base(f.Path), "flotilla-folder-") || !strings.Contains(f.Marker, f.Path) {
		t.Errorf("directory %s with marker %s", f.Path, f.Marker)
	}
	if err := f.Release(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(f.Path); !os.IsNotExist(err) {
		t.Errorf("the directory still exists: %v", err)
	}
}

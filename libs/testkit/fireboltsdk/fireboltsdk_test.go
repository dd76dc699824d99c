package fireboltsdk

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCommandRunsClient(t *testing.T) {
	program := filepath.Join(t.TempDir(), "version.py")
	if err := os.WriteFile(program, []byte("import firebolt.db\nfrom firebolt import __version__\nprint(__version__)\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := Command(t, program).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if version := strings.TrimSpace(string(out)); !strings.Contains(string(requirements), "firebolt-sdk=="+version+" ") {
		t.Errorf("version %s is not the pinned one", version)
	}
}

package proc_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/flotilla-dev/flotilla/libs/testkit/proc"
)

func TestReadBytesCountsReads(t *testing.T) {
	const size = 1 << 20
	file := filepath.Join(t.TempDir(), "data")
	if err := os.WriteFile(file, make([]byte, size), 0o600); err != nil {
		t.Fatal(err)
	}
	read := func() float64 {
		t.Helper()
		n, err := proc.ReadBytes(os.Getpid())
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := read()
	if _, err := os.ReadFile(file); err != nil {
		t.Fatal(err)
	}
	if got := read() - before; got < size || got > 2*size {
		t.Errorf("%.0f bytes for a file of %d", got, size)
	}
}

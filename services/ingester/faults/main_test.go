package faults

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
)

var options = cluster.Options{CRDs: []string{"../config/crd"}, Nodes: 1}

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	var err error
	if binary.dir, err = os.MkdirTemp("", "flotilla-ingester-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := cluster.Main(m, options)
	if err := os.RemoveAll(binary.dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// binary is the program under test, built once, by the first test that needs it.
var binary struct {
	once sync.Once
	dir  string
	err  error
}

func program(t testing.TB) string {
	t.Helper()
	binary.once.Do(func() {
		build := exec.Command("go", "build", "-o", binary.dir, "../cmd/ingester") //nolint:noctx // for all tests
		if out, err := build.CombinedOutput(); err != nil {
			binary.err = errors.Join(err, errors.New(string(out)))
		}
	})
	if binary.err != nil {
		t.Fatalf("build the ingester: %v", binary.err)
	}
	return filepath.Join(binary.dir, "ingester")
}

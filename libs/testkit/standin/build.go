package standin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"github.com/flotilla-dev/flotilla/libs/testkit/freeport"
	"github.com/flotilla-dev/flotilla/libs/testkit/standin/server"
	"github.com/flotilla-dev/flotilla/libs/testkit/watchdog"
)

const program = "github.com/flotilla-dev/flotilla/libs/testkit/standin/cmd/standin-engine"

// once holds what all nodes of a test binary share.
var once struct {
	sync.Mutex
	path, marker string
	ports        *server.Ports
}

// Ports are the ports of every node of this test binary. They are free on all addresses
// when they are picked.
func Ports() (server.Ports, error) {
	once.Lock()
	defer once.Unlock()
	if once.ports == nil {
		free, err := freeport.Pick(3)
		if err != nil {
			return server.Ports{}, err
		}
		once.ports = &server.Ports{Query: free[0], Health: free[1], Metrics: free[2]}
	}
	return *once.ports, nil
}

// build returns the path of the program and what has to stand in the environment of its
// processes, by which they are found when the test binary has ended. The go command finds it in the module cache of
// its own builds after the first time, so building takes well below a second.
func build(ctx context.Context) (path, marker string, err error) {
	once.Lock()
	defer once.Unlock()
	if once.path != "" {
		return once.path, once.marker, nil
	}
	dir, err := os.MkdirTemp("", "flotilla-standin-")
	if err != nil {
		return "", "", fmt.Errorf("create the folder of the stand-in engine: %w", err)
	}
	path, marker = filepath.Join(dir, "standin-engine"), watchdog.Marker("FLOTILLA_STANDIN", dir)
	guard, err := watchdog.Start(watchdog.Cleanup{Marker: marker, Dir: dir})
	if err != nil {
		return "", "", errors.Join(err, os.RemoveAll(dir))
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-o", path, program) //nolint:gosec // both are this package's own
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		err = fmt.Errorf("build the stand-in engine: %w\n%s", err, strings.TrimSpace(string(out)))
		return "", "", errors.Join(err, guard.Release())
	}
	once.path, once.marker = path, marker
	return path, marker, nil
}

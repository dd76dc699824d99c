package watchdog

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// Folder is a folder of this process that goes with it, and with it the processes that carry the marker.
type Folder struct {
	*Guard
	Path   string
	Marker string // KEY=value, see Cleanup
}

// Need is what a folder is for.
type Need struct {
	// Prefix begins the folder's name.
	Prefix string
	// Key of the marker.
	Key string
	// Memory is how many bytes there should be for it in memory, where servers with many small files start sooner; 0 means
	// that it need not be there. TMPDIR, which says where temporary files belong, goes before.
	Memory uint64
	// Container says that a Docker container may get the folder's name, to be removed with it.
	Container bool
}

// memory is a file system in memory, on most machines.
const memory = "/dev/shm"

// NewFolder makes a folder.
func NewFolder(n Need) (Folder, error) {
	parent := ""
	var fs syscall.Statfs_t
	if n.Memory > 0 && os.Getenv("TMPDIR") == "" && syscall.Statfs(memory, &fs) == nil && fs.Bavail*uint64(fs.Bsize) > n.Memory { //nolint:gosec // a size is positive
		parent = memory
	}
	dir, err := os.MkdirTemp(parent, n.Prefix)
	if err != nil {
		return Folder{}, fmt.Errorf("create a folder: %w", err)
	}
	c := Cleanup{Marker: Marker(n.Key, dir), Dir: dir}
	if n.Container {
		c.Containers = []string{filepath.Base(dir)}
	}
	guard, err := Start(c)
	if err != nil {
		return Folder{}, errors.Join(err, os.RemoveAll(dir))
	}
	return Folder{Guard: guard, Path: dir, Marker: c.Marker}, nil
}

package watchdog

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// Directory is a directory of this process that is removed when it ends, after the processes that carry the marker.
type Directory struct {
	*Guard
	Path   string
	Marker string // KEY=value, see Cleanup
}

// Need describes the purpose of a directory.
type Need struct {
	// Prefix begins the name of the directory.
	Prefix string
	// Key of the marker.
	Key string
	// Memory is how many bytes there should be for it in memory, where servers with many small files start sooner; 0 means
	// that it need not be there. TMPDIR, which says where temporary files belong, goes before.
	Memory uint64
	// Container reports whether a Docker container may use the directory's name, to be removed with it.
	Container bool
}

// memory is a file system in memory, on most machines.
const memory = "/dev/shm"

// NewDirectory creates a directory.
func NewDirectory(n Need) (Directory, error) {
	parent := ""
	var fs syscall.Statfs_t
	if n.Memory > 0 && os.Getenv("TMPDIR") == "" && syscall.Statfs(memory, &fs) == nil && fs.Bavail*uint64(fs.Bsize) > n.Memory {
		parent = memory
	}
	dir, err := os.MkdirTemp(parent, n.Prefix)
	if err != nil {
		return Directory{}, fmt.Errorf("create a directory: %w", err)
	}
	c := Cleanup{Marker: Marker(n.Key, dir), Dir: dir}
	if n.Container {
		c.Containers = []string{filepath.Base(dir)}
	}
	guard, err := Start(c)
	if err != nil {
		return Directory{}, errors.Join(err, os.RemoveAll(dir))
	}
	return Directory{Guard: guard, Path: dir, Marker: c.Marker}, nil
}

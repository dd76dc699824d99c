package watchdog

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// Directory is a temporary directory of this process. When the process exits, the watchdog kills the processes with the
// marker and then removes the directory.
type Directory struct {
	*Guard
	Path   string
	Marker string // KEY=value, see Cleanup
}

// Options describe the purpose of a directory.
type Options struct {
	// Prefix begins the name of the directory.
	Prefix string
	// Key of the marker.
	Key string
	// Memory is the free space in bytes that the directory needs to be in memory, where servers with many small files
	// start faster; 0 means on disk. TMPDIR takes precedence if it is set.
	Memory uint64
	// Container reports whether a Docker container may use the directory's name, to be removed with it.
	Container bool
}

// memory is the mount point of a file system in memory on most machines.
const memory = "/dev/shm"

// NewDirectory creates a directory.
func NewDirectory(o Options) (Directory, error) {
	parent := ""
	var fs syscall.Statfs_t
	if o.Memory > 0 && os.Getenv("TMPDIR") == "" && syscall.Statfs(memory, &fs) == nil && fs.Bavail*uint64(fs.Bsize) > o.Memory {
		parent = memory
	}
	dir, err := os.MkdirTemp(parent, o.Prefix)
	if err != nil {
		return Directory{}, fmt.Errorf("create a directory: %w", err)
	}
	c := Cleanup{Marker: Marker(o.Key, dir), Dir: dir}
	if o.Container {
		c.Containers = []string{filepath.Base(dir)}
	}
	guard, err := Start(c)
	if err != nil {
		return Directory{}, errors.Join(err, os.RemoveAll(dir))
	}
	return Directory{Guard: guard, Path: dir, Marker: c.Marker}, nil
}

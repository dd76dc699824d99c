package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

const networkTimeout = time.Minute

// Run runs the sandbox. It must be the first process of its namespaces, and it ends when ctx does.
func Run(ctx context.Context, file string, log io.Writer) error {
	if os.Getpid() != 1 {
		return errors.New("the sandbox must be the first process of a node, which `stack up --node real` starts")
	}
	c, err := read(file)
	if err != nil {
		return err
	}
	if err := c.mount(); err != nil {
		return err
	}
	if err := c.awaitNetwork(ctx); err != nil {
		return err
	}
	for path, value := range c.Sysctls {
		if err := os.WriteFile(filepath.Join("/proc/sys", path), []byte(value), 0o600); err != nil {
			return fmt.Errorf("set %s: %w", path, err)
		}
	}
	return newSupervisor(c.Programs, log).run(ctx)
}

// mount creates the mounts of the sandbox. It hides /run of the machine, so that the node does not share locks of
// containerd and iptables, network namespaces and sockets with the machine.
func (c Config) mount() error {
	if err := syscall.Mount("none", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private to the node: %w", err)
	}
	// The kubelet and containers require shared mount propagation within the node.
	if err := syscall.Mount("none", "/", "", syscall.MS_REC|syscall.MS_SHARED, ""); err != nil {
		return fmt.Errorf("share mounts within the node: %w", err)
	}
	// Opened before the mounts below hide them.
	var dirs []*os.File
	for _, b := range c.Binds {
		if err := os.MkdirAll(b.Dir, 0o750); err != nil {
			return fmt.Errorf("show %s at %s: %w", b.Dir, b.At, err)
		}
		dir, err := os.Open(b.Dir)
		if err != nil {
			return fmt.Errorf("show %s at %s: %w", b.Dir, b.At, err)
		}
		defer dir.Close() //nolint:errcheck // only read
		dirs = append(dirs, dir)
	}
	for _, m := range []struct{ kind, at string }{{"proc", "/proc"}, {"tmpfs", "/run"}} {
		if err := syscall.Mount(m.kind, m.at, m.kind, 0, ""); err != nil {
			return fmt.Errorf("mount %s: %w", m.at, err)
		}
	}
	if err := hide("/var/lib"); err != nil {
		return err
	}
	for i, b := range c.Binds {
		if err := os.MkdirAll(b.At, 0o750); err != nil {
			return fmt.Errorf("show %s at %s: %w", b.Dir, b.At, err)
		}
		source := fmt.Sprintf("/proc/self/fd/%d", dirs[i].Fd())
		if err := syscall.Mount(source, b.At, "", syscall.MS_BIND|syscall.MS_REC, ""); err != nil {
			return fmt.Errorf("show %s at %s: %w", b.Dir, b.At, err)
		}
	}
	return c.scratch()
}

func (c Config) scratch() error {
	for _, s := range c.Scratch {
		if err := os.MkdirAll(s.At, 0o750); err != nil {
			return fmt.Errorf("make %s: %w", s.At, err)
		}
		if err := syscall.Mount("tmpfs", s.At, "tmpfs", 0, "mode=0750,size="+s.Size); err != nil {
			return fmt.Errorf("mount %s of %s: %w", s.At, s.Size, err)
		}
	}
	return nil
}

// hide mounts an overlay over a directory of the machine, so that mount points that the node creates in it are private.
// Without the overlay, removing a mount point directory on the machine would unmount it in all other nodes.
func hide(dir string) error {
	upper, work := "/run/cover/upper", "/run/cover/work"
	if err := errors.Join(os.MkdirAll(upper, 0o755), os.MkdirAll(work, 0o755)); err != nil {
		return fmt.Errorf("cover %s: %w", dir, err)
	}
	options := "lowerdir=" + dir + ",upperdir=" + upper + ",workdir=" + work
	if err := syscall.Mount("overlay", dir, "overlay", 0, options); err != nil {
		return fmt.Errorf("cover %s: %w", dir, err)
	}
	return nil
}

// awaitNetwork waits until the machine has configured the address of the node.
func (c Config) awaitNetwork(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, networkTimeout)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		addresses, err := net.InterfaceAddrs()
		if err != nil {
			return fmt.Errorf("get the node's address: %w", err)
		}
		for _, one := range addresses {
			if ip, ok := one.(*net.IPNet); ok && ip.IP.String() == c.Address {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("address %s of the node not found: %w", c.Address, ctx.Err())
		case <-tick.C:
		}
	}
}

package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// connect connects the sandbox and the machine with a veth pair. It replaces the device of an earlier attempt.
func (n *Node) connect(ctx context.Context, pid int) error {
	if err := n.disconnect(ctx); err != nil {
		return err
	}
	inside := []string{"nsenter", "--net=/proc/" + strconv.Itoa(pid) + "/ns/net"}
	for _, command := range [][]string{
		{"ip", "link", "add", n.link(), "type", "veth", "peer", "name", "eth0", "netns", strconv.Itoa(pid)},
		{"ip", "address", "add", n.machine() + "/30", "dev", n.link()},
		{"ip", "link", "set", n.link(), "up"},
		slices.Concat(inside, []string{"ip", "link", "set", "lo", "up"}),
		slices.Concat(inside, []string{"ip", "link", "set", "eth0", "up"}),
		// The address comes last, since the sandbox waits for it. With a default route, programs choose it as the node's
		// address.
		slices.Concat(inside, []string{"ip", "address", "add", n.node() + "/30", "dev", "eth0"}),
		slices.Concat(inside, []string{"ip", "route", "add", "default", "via", n.machine()}),
	} {
		if err := run(ctx, command...); err != nil {
			return fmt.Errorf("connect the node to this machine: %w", err)
		}
	}
	return nil
}

// disconnect removes the device, which usually disappears with the sandbox.
func (n *Node) disconnect(ctx context.Context) error {
	if _, err := os.Stat("/sys/class/net/" + n.link()); err != nil {
		return nil //nolint:nilerr // does not exist
	}
	err := run(ctx, "ip", "link", "delete", n.link())
	if _, statErr := os.Stat("/sys/class/net/" + n.link()); statErr != nil {
		return nil //nolint:nilerr // removed in the meantime
	}
	return err
}

// removeCgroups removes the cgroups of containers that were killed with their sandbox: containerd creates a group per
// container, with its name. It retries busy groups, since the kernel needs time to terminate all processes of a sandbox.
func (n *Node) removeCgroups(ctx context.Context) error {
	var ids []string
	for _, kind := range []string{"containers", "sandboxes"} {
		found, err := filepath.Glob(n.dir("containerd", "io.containerd.grpc.v1.cri", kind, "*"))
		if err != nil {
			return fmt.Errorf("list the containers of the node: %w", err)
		}
		ids = append(ids, found...)
	}
	roots, err := filepath.Glob("/sys/fs/cgroup/*/k8s.io") // cgroup v1 has one per controller
	if err != nil {
		return fmt.Errorf("list the cgroups of the node: %w", err)
	}
	for _, root := range append(roots, "/sys/fs/cgroup/k8s.io") {
		for _, id := range ids {
			if err := removeCgroup(ctx, filepath.Join(root, filepath.Base(id))); err != nil {
				return fmt.Errorf("remove the cgroups of the node: %w", err)
			}
		}
		// All containerd processes of the machine share this group.
		if err := ignoreAbsent(syscall.Rmdir(root)); err != nil && !errors.Is(err, syscall.EBUSY) && !errors.Is(err, syscall.ENOTEMPTY) {
			return fmt.Errorf("remove the cgroup %s: %w", root, err)
		}
	}
	return nil
}

// removeCgroup removes a group and its descendants, the innermost first, as soon as they are empty.
func removeCgroup(ctx context.Context, root string) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		var dirs []string
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.IsDir() {
				dirs = append(dirs, path)
			}
			return ignoreAbsent(err)
		})
		if err != nil {
			return err
		}
		for _, dir := range slices.Backward(dirs) {
			if err = ignoreAbsent(os.Remove(dir)); err != nil {
				break
			}
		}
		if err == nil || !errors.Is(err, syscall.EBUSY) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-tick.C:
		}
	}
}

func ignoreAbsent(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func run(ctx context.Context, command ...string) error {
	out, err := exec.CommandContext(ctx, command[0], command[1:]...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(command, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

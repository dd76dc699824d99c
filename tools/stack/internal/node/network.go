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
)

// connect joins the box to the machine by a veth pair. What an earlier try has left is made anew.
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
		// Last of all the address, for which the box waits; a default route makes the address the node's own.
		slices.Concat(inside, []string{"ip", "address", "add", n.node() + "/30", "dev", "eth0"}),
		slices.Concat(inside, []string{"ip", "route", "add", "default", "via", n.machine()}),
	} {
		if err := run(ctx, command...); err != nil {
			return fmt.Errorf("join the node to this machine: %w", err)
		}
	}
	return nil
}

// disconnect removes the device, which is usually gone with the box.
func (n *Node) disconnect(ctx context.Context) error {
	if _, err := os.Stat("/sys/class/net/" + n.link()); err != nil {
		return nil //nolint:nilerr // it is gone
	}
	err := run(ctx, "ip", "link", "delete", n.link())
	if _, statErr := os.Stat("/sys/class/net/" + n.link()); statErr != nil {
		return nil //nolint:nilerr // gone in the meantime
	}
	return err
}

// removeCgroups takes away what containers leave when they end with their box: containerd has a group for each, named
// as the container is. It is called when no process of the node is left.
func (n *Node) removeCgroups() error {
	var ids []string
	for _, kind := range []string{"containers", "sandboxes"} {
		found, err := filepath.Glob(n.dir("containerd", "io.containerd.grpc.v1.cri", kind, "*"))
		if err != nil {
			return fmt.Errorf("list the containers of the node: %w", err)
		}
		ids = append(ids, found...)
	}
	roots, err := filepath.Glob("/sys/fs/cgroup/*/k8s.io") // version 1 has one for each controller
	if err != nil {
		return fmt.Errorf("list the cgroups of the node: %w", err)
	}
	var errs []error
	for _, root := range append(roots, "/sys/fs/cgroup/k8s.io") {
		for _, id := range ids {
			errs = append(errs, removeCgroup(filepath.Join(root, filepath.Base(id))))
		}
		// Theirs is shared by all containerds of a machine.
		if err := ignoreAbsent(syscall.Rmdir(root)); !errors.Is(err, syscall.EBUSY) && !errors.Is(err, syscall.ENOTEMPTY) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// removeCgroup removes a group and those in it, the inner ones first.
func removeCgroup(root string) error {
	var folders []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			folders = append(folders, path)
		}
		return ignoreAbsent(err)
	})
	for _, folder := range slices.Backward(folders) {
		err = errors.Join(err, ignoreAbsent(syscall.Rmdir(folder)))
	}
	return err
}

func ignoreAbsent(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func run(ctx context.Context, command ...string) error {
	out, err := exec.CommandContext(ctx, command[0], command[1:]...).CombinedOutput() //nolint:gosec // our own commands
	if err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(command, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

package node

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/flotilla-dev/flotilla/libs/testkit/cachedir"
	"github.com/flotilla-dev/flotilla/libs/testkit/controlplane"

	"github.com/flotilla-dev/flotilla/tools/stack/internal/build"
	"github.com/flotilla-dev/flotilla/tools/stack/internal/checkout"
	"github.com/flotilla-dev/flotilla/tools/stack/internal/node/capability"
	"github.com/flotilla-dev/flotilla/tools/stack/internal/node/image"
)

// tools are directories of the cache, which all stacks share.
type tools struct {
	ControlPlane controlplane.Tools
	Packages     string // unpacked Debian packages
	Addons       string // programs that run in pods, each in its own image
}

// packages come from Debian sid. Its containerd has few dynamic dependencies and runs on older releases too.
var packages = []string{"containerd", "containernetworking-plugins", "busybox-static"}

// addons are the import paths of the add-ons by the name of their program.
var addons = map[string]string{
	"coredns":                "github.com/coredns/coredns",
	"local-path-provisioner": "github.com/rancher/local-path-provisioner",
}

func findTools(c checkout.Checkout, own controlplane.Tools) (tools, error) {
	cache, err := cachedir.Path()
	if err != nil {
		return tools{}, err
	}
	sum := sha256.New()
	for _, name := range []string{"go.mod", "go.sum"} {
		data, err := os.ReadFile(c.Path("tools", name))
		if err != nil {
			return tools{}, fmt.Errorf("read the versions of the node's programs: %w", err)
		}
		sum.Write(data)
	}
	return tools{
		ControlPlane: own,
		Packages:     filepath.Join(cache, "packages", "node-sid"),
		Addons:       filepath.Join(cache, "addons-"+hex.EncodeToString(sum.Sum(nil))[:12]),
	}, nil
}

// Prepare builds and downloads the programs of the node. The first time takes minutes; later calls use the cache.
func (n *Node) Prepare(ctx context.Context) error {
	module := n.c.Path("tools", "controlplane")
	if _, err := controlplane.Build(ctx, module, n.logf, controlplane.NodePrograms...); err != nil {
		return err
	}
	if err := os.MkdirAll(n.tools.Addons, 0o750); err != nil {
		return fmt.Errorf("prepare the node: %w", err)
	}
	fetch := append([]string{n.c.Path("hack", "docker-packages"), "sid", n.tools.Packages}, packages...)
	if err := run(ctx, fetch...); err != nil {
		return err
	}
	unlock, err := cachedir.Lock(ctx, filepath.Join(n.tools.Addons, ".lock"), func() {
		n.logf("waiting for another build of the node's programs")
	})
	if err != nil {
		return fmt.Errorf("prepare the node: %w", err)
	}
	defer unlock() //nolint:errcheck // the kernel releases the lock with the process
	for name, pkg := range addons {
		starting := func() { n.logf("  building %s", name) }
		if err := build.Once(ctx, n.c.Path("tools"), pkg, filepath.Join(n.tools.Addons, name), starting); err != nil {
			return err
		}
	}
	// Always built: the build cache makes this cheap if the source is unchanged.
	return build.Static(ctx, n.c.Path("tools"), "./stack/pause", filepath.Join(n.tools.Addons, "pause"))
}

// images returns the images that a node requires before it can run pods and provision volumes.
func (t tools) images() []image.Image {
	program := func(name string, links ...string) image.Image {
		return image.Image{
			Name: name, Program: filepath.Join(t.Addons, name), Path: "/bin/" + name,
			Entrypoint: []string{"/bin/" + name}, Links: links,
		}
	}
	busybox := program("busybox", applets()...)
	busybox.Program, busybox.Entrypoint = filepath.Join(t.Packages, "usr/bin/busybox"), []string{"/bin/sh"}
	return []image.Image{program("pause"), program("coredns"), program("local-path-provisioner"), busybox}
}

// applets returns the busybox applets that volumes, tests and users need.
func applets() []string {
	var links []string
	for name := range strings.FieldsSeq(`cat chmod cp date dd df env false find grep head hostname httpd id ip kill ls
		mkdir mv nc nslookup ping printf ps pwd rm sed sh sleep sort stat tail tar tee test touch true wc wget`) {
		links = append(links, "/bin/"+name)
	}
	return links
}

// CheckSupported returns an error if the operating system or the user cannot run a real node.
func CheckSupported() error {
	if missing := capability.Missing(capability.Basic().Supported()); len(missing) > 0 {
		return capability.Error{Missing: missing}
	}
	return nil
}

// Ready returns an error that lists all missing prerequisites. It first installs the available Debian packages.
func Ready(ctx context.Context, c checkout.Checkout) error {
	var want []string
	for program, pkg := range capability.Programs {
		want = append(want, program+":"+pkg)
	}
	slices.Sort(want)
	// Look reports the programs of packages that it cannot install as missing.
	ensure := exec.CommandContext(ctx, c.Path("hack", "ensure"), want...)
	out, ensureErr := ensure.CombinedOutput()
	missing := capability.Missing(capability.Detect(ctx, c.Local()))
	if len(missing) == 0 {
		return nil
	}
	if ensureErr != nil {
		missing = append(missing, "hack/ensure: "+strings.TrimSpace(string(out)))
	}
	return capability.Error{Missing: missing}
}

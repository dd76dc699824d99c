package node

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/flotilla-dev/flotilla/libs/testkit/kubectl"
	"github.com/flotilla-dev/flotilla/libs/testkit/proc"
)

// APIReady returns nil if the API server reports ready.
func (n *Node) APIReady(ctx context.Context) error {
	_, err := n.kubectl(ctx, nil, "get", "--raw", "/readyz", "--request-timeout=5s")
	return err
}

// Start starts the cluster add-ons and returns when pods can run, resolve names and mount volumes.
func (n *Node) Start(ctx context.Context) error {
	if err := n.await(ctx, "containerd", n.importOwn); err != nil {
		return err
	}
	v, err := n.values()
	if err != nil {
		return err
	}
	for _, name := range []string{"dns.yaml", "storage.yaml"} {
		manifest, err := renderTemplate(name, v)
		if err != nil {
			return err
		}
		if _, err := n.kubectl(ctx, manifest, "apply", "--server-side", "--force-conflicts", "-f", "-"); err != nil {
			return err
		}
	}
	if err := n.await(ctx, "the node", n.nodeReady); err != nil {
		return err
	}
	for namespace, deployment := range map[string]string{
		"kube-system": "coredns", "local-path-storage": "local-path-provisioner",
	} {
		_, err := n.kubectl(ctx, nil, "rollout", "status", "--namespace="+namespace, "deployment/"+deployment,
			"--timeout="+readyTimeout.String())
		if err != nil {
			return err
		}
	}
	// The API server may still report the state from before the restart of the node.
	return n.await(ctx, "cluster DNS", n.resolves)
}

// resolves returns nil if cluster DNS answers a query from the node through its Service.
func (n *Node) resolves(ctx context.Context) error {
	_, err := output(ctx, "nsenter", "--net=/proc/"+strconv.Itoa(n.spec().PID())+"/ns/net",
		filepath.Join(n.tools.Packages, "usr/bin/busybox"), "nslookup", "kubernetes.default.svc.cluster.local", dnsIP)
	return err
}

func (n *Node) nodeReady(ctx context.Context) error {
	_, err := n.kubectl(ctx, nil, "wait", "--for=condition=Ready", "node/"+Name, "--timeout=10s")
	return err
}

// importOwn imports the missing images of the node itself.
func (n *Node) importOwn(ctx context.Context) error {
	has, err := n.ctr(ctx, "images", "list", "--quiet")
	if err != nil {
		return err
	}
	present := strings.Fields(string(has))
	for _, i := range n.tools.images() {
		reference, err := i.Reference()
		if err != nil {
			return err
		}
		if slices.Contains(present, "docker.io/"+reference) {
			continue
		}
		file := n.dir("images", i.Name+".tar")
		if err := i.Write(file); err != nil {
			return err
		}
		_, err = n.ctr(ctx, "images", "import", file)
		if err := errors.Join(err, os.Remove(file)); err != nil {
			return err
		}
	}
	return nil
}

// Import imports images from tars, or from all tars in directories, and returns the newly imported tars.
func (n *Node) Import(ctx context.Context, paths []string) ([]string, error) {
	files, err := archives(paths)
	if err != nil {
		return nil, err
	}
	var imported []string
	for _, file := range files {
		mark, had, err := n.importedBefore(file)
		if err != nil {
			return nil, err
		}
		if had {
			continue
		}
		if _, err := n.ctr(ctx, "images", "import", file); err != nil {
			return nil, fmt.Errorf("import %s: %w", file, err)
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(mark), 0o750), os.WriteFile(mark, nil, 0o600)); err != nil {
			return nil, fmt.Errorf("record the import of %s: %w", file, err)
		}
		imported = append(imported, file)
	}
	return imported, nil
}

// Digests returns the digest of each image in the node, by its name with the registry.
func (n *Node) Digests(ctx context.Context) (map[string]string, error) {
	list, err := n.ctr(ctx, "images", "list")
	if err != nil {
		return nil, fmt.Errorf("list images: %w", err)
	}
	return digests(string(list))
}

// digests parses the table of ctr, whose columns begin with the name, the media type and the digest.
func digests(table string) (map[string]string, error) {
	found := map[string]string{}
	for line := range strings.Lines(table) {
		columns := strings.Fields(line)
		if len(columns) < 3 {
			return nil, fmt.Errorf("list images: unknown line %q", line)
		}
		if columns[0] != "REF" {
			found[columns[0]] = columns[2]
		}
	}
	return found, nil
}

// importedBefore reports whether a file was imported, by path, size and modification time, and returns the file that
// records it. That file is removed together with the images.
func (n *Node) importedBefore(file string) (mark string, had bool, err error) {
	path, err := filepath.Abs(file)
	if err != nil {
		return "", false, fmt.Errorf("find images: %w", err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", false, fmt.Errorf("find images: %w", err)
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d %d", path, info.Size(), info.ModTime().UnixNano()))
	mark = n.dir("imported", hex.EncodeToString(sum[:8]))
	_, err = os.Stat(mark)
	return mark, err == nil, nil
}

func archives(paths []string) ([]string, error) {
	var files []string
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, fmt.Errorf("find images: %w", err)
		}
		if !info.IsDir() {
			files = append(files, path)
			continue
		}
		found, err := filepath.Glob(filepath.Join(path, "*.tar"))
		if err != nil {
			return nil, fmt.Errorf("find images: %w", err)
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("find images: no *.tar in %s", path)
		}
		files = append(files, found...)
	}
	return files, nil
}

// ctr runs ctr in the sandbox, since the socket of the node's containerd is only visible there.
func (n *Node) ctr(ctx context.Context, args ...string) ([]byte, error) {
	pid := n.spec().PID()
	if pid == 0 {
		return nil, errors.New("the node does not run; start it with `make up NODE=real`")
	}
	socket := "/proc/" + strconv.Itoa(pid) + "/root/run/containerd/containerd.sock"
	args = append([]string{"--address", socket, "--namespace", "k8s.io"}, args...)
	return output(ctx, filepath.Join(n.tools.Packages, "usr/bin/ctr"), args...)
}

func (n *Node) kubectl(ctx context.Context, stdin []byte, args ...string) ([]byte, error) {
	client := kubectl.Client{Program: n.tools.ControlPlane.Path("kubectl"), Kubeconfig: n.kubeconfig, Cache: n.c.Local("cache")}
	return client.Run(ctx, string(stdin), args...)
}

func output(ctx context.Context, program string, args ...string) ([]byte, error) {
	out, err := proc.Output(exec.CommandContext(ctx, program, args...))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Base(program), err)
	}
	return out, nil
}

package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/flotilla-dev/flotilla/libs/testkit/await"
	"github.com/flotilla-dev/flotilla/libs/testkit/controlplane"

	"github.com/flotilla-dev/flotilla/tools/stack/internal/checkout"
	"github.com/flotilla-dev/flotilla/tools/stack/internal/node/sandbox"
	"github.com/flotilla-dev/flotilla/tools/stack/internal/process"
)

// Node is a cluster with a real node, a component of the stack.
type Node struct {
	layout
	tools      tools
	program    string // this program, which the sandbox runs
	kubeconfig string
	logf       func(format string, args ...any)
}

// Config configures the node.
type Config struct {
	Tools      controlplane.Tools
	Kubeconfig string // file for the administrator's credentials
	Logf       func(format string, args ...any)
}

// New returns the node of a stack, running or not.
func New(c checkout.Checkout, cfg Config) (*Node, error) {
	t, err := findTools(c, cfg.Tools)
	if err != nil {
		return nil, err
	}
	program, err := os.Executable()
	return &Node{layout: layout{c}, tools: t, program: program, kubeconfig: cfg.Kubeconfig, logf: cfg.Logf}, err
}

const (
	sandboxName  = "node"
	readyTimeout = 2 * time.Minute
	// hangTimeout is the time without an answer after which a running node is restarted.
	hangTimeout = 30 * time.Second
)

// AuditLog returns the path of the audit log, with one line per request of Flotilla's services to the API server.
func (n *Node) AuditLog() string { return n.c.Log("audit") }

// spec describes the process of the sandbox: this program, as the first process of its namespaces.
func (n *Node) spec() process.Spec {
	return process.Spec{
		Name: sandboxName, Args: []string{n.program, "sandbox", n.conf("sandbox.json")}, Apart: true,
		Dir: "/", Log: n.c.Log(sandboxName), Run: n.c.Local("run"), Marker: n.c.Marker(),
		Files: []string{n.conf("sandbox.json"), n.conf("containerd.toml"), n.conf("cni/flotilla.conflist"), n.conf("kubelet.yaml"), n.conf("kube-proxy.yaml")},
	}
}

// Ensure starts the sandbox unless it already runs with the current configuration, and waits until the API server
// answers. It reports whether it started the sandbox.
func (n *Node) Ensure(ctx context.Context, auditPolicy string) (started bool, err error) {
	if err := n.write(auditPolicy); err != nil {
		return false, err
	}
	spec := n.spec()
	current, err := spec.Current()
	if err != nil {
		return false, err
	}
	// A busy API server may miss one check, and a restart would stop all pods.
	if current && await.Nil(ctx, hangTimeout, time.Second, n.APIReady) == nil {
		return false, nil
	}
	if err := spec.Stop(ctx); err != nil {
		return false, err
	}
	if err := spec.Start(); err != nil {
		return false, err
	}
	pid := spec.PID()
	if pid == 0 {
		return false, fmt.Errorf("the node exited immediately (make logs S=%s)", sandboxName)
	}
	if err := n.connect(ctx, pid); err != nil {
		return false, err
	}
	return true, n.await(ctx, "the API server", n.APIReady)
}

// write writes credentials, unless they exist, and the configuration of all programs.
func (n *Node) write(auditPolicy string) error {
	if err := n.writeCredentials(); err != nil {
		return err
	}
	values, err := n.values()
	if err != nil {
		return err
	}
	for from, to := range map[string]string{
		"containerd.toml": "containerd.toml", "cni.conflist": "cni/flotilla.conflist",
		"kubelet.yaml": "kubelet.yaml", "kube-proxy.yaml": "kube-proxy.yaml",
	} {
		text, err := renderTemplate(from, values)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(n.conf(to)), 0o700); err != nil {
			return fmt.Errorf("write %s: %w", to, err)
		}
		if err := os.WriteFile(n.conf(to), text, 0o600); err != nil {
			return fmt.Errorf("write %s: %w", to, err)
		}
	}
	if err := os.WriteFile(n.conf("audit-policy.yaml"), []byte(auditPolicy), 0o600); err != nil {
		return fmt.Errorf("write the audit policy: %w", err)
	}
	return sandbox.Config{
		Address: n.node(), Binds: n.binds(), Scratch: n.scratch(), Programs: n.programs(),
		Sysctls: map[string]string{"net/ipv4/ip_forward": "1"},
	}.Write(n.conf("sandbox.json"))
}

// await polls until the check returns nil or the timeout expires.
func (n *Node) await(ctx context.Context, what string, ask func(context.Context) error) error {
	spec := n.spec()
	err := await.Nil(ctx, readyTimeout, 200*time.Millisecond, func(ctx context.Context) error {
		err := ask(ctx)
		if err != nil && spec.PID() == 0 {
			return await.Stop(fmt.Errorf("the node has exited (make logs S=%s): %w", sandboxName, err))
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("%s is not ready: %w", what, err)
	}
	return nil
}

// Stop stops the sandbox with all its processes, like powering off a machine. It keeps the data.
func (n *Node) Stop(ctx context.Context) error {
	return errors.Join(n.spec().Stop(ctx), n.disconnect(ctx))
}

// Kill kills the sandbox.
func (n *Node) Kill(ctx context.Context) error { return n.spec().Kill(ctx) }

// Remove removes the resources that remain after the sandbox has exited. It removes the files last, since they contain
// the names of the cgroups.
func (n *Node) Remove(ctx context.Context) error {
	if err := errors.Join(n.disconnect(ctx), n.removeCgroups(ctx)); err != nil {
		return err
	}
	return os.RemoveAll(n.dir())
}

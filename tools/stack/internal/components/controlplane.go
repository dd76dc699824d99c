package components

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"github.com/flotilla-dev/flotilla/libs/testkit/controlplane"
)

// Nodes is the number of simulated nodes.
const Nodes = 30

const apiServer = "kube-apiserver"

// components are the components of the control plane; each has its own log.
var components = []string{"etcd", apiServer, "kube-controller-manager", "kube-scheduler", "kwok-controller"}

// ControlPlane is a Kubernetes control plane with simulated nodes.
type ControlPlane struct{ env *Env }

// NewControlPlane returns the component.
func NewControlPlane(env *Env) *ControlPlane { return &ControlPlane{env: env} }

// Name returns the name of the component.
func (c *ControlPlane) Name() string { return "control-plane" }

func (c *ControlPlane) config() controlplane.Config {
	return controlplane.Config{
		Name:   "flotilla-" + c.env.Checkout.ID(),
		Dir:    c.env.Checkout.Local("cluster"),
		Nodes:  Nodes,
		Faults: true,
		Marker: c.env.Checkout.Marker(),

		AuditPolicy: c.env.Checkout.Local("audit-policy.yaml"),
	}
}

// auditPolicy logs only the requests of the services: one event per request, without its body, and one more per watch,
// which is logged when it starts and when it ends.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
omitManagedFields: true
rules:
- level: Metadata
  userGroups: ["system:serviceaccounts:` + SystemNamespace + `"]
- level: None
`

// auditLog is the name of the audit log among the logs of the components.
const auditLog = "audit"

// AuditLogs returns the files of the audit log, which the API server rotates, the oldest first.
func (e *Env) AuditLogs() ([]string, error) {
	log := NewControlPlane(e).config().LogFile(auditLog)
	if e.State.RealNode {
		log = e.Checkout.Log(auditLog)
	}
	dir, file := filepath.Split(log)
	older, err := filepath.Glob(filepath.Join(dir, auditLog+"-*"+filepath.Ext(file)))
	if err != nil {
		return nil, fmt.Errorf("list the audit logs: %w", err)
	}
	return append(older, filepath.Join(dir, file)), nil
}

// Kubeconfig returns the path of a kubeconfig with an administrator's credentials.
func (e *Env) Kubeconfig() string {
	return e.Checkout.Local("cluster", "kubeconfig")
}

// Logs returns the logs of the programs. They are links, since the programs write into the cluster's directory.
func (c *ControlPlane) Logs() map[string]string {
	logs := map[string]string{}
	for _, name := range append([]string{auditLog}, components...) {
		logs[name] = c.env.Checkout.Log(name)
	}
	return logs
}

// Ensure starts the programs that do not run. It replaces a cluster that does not start again.
func (c *ControlPlane) Ensure(ctx context.Context) (Outcome, error) {
	cfg := c.config()
	cluster, found := c.env.Tools.Open(cfg)
	if found {
		if cluster.Ready(ctx) == nil {
			return Reused, nil
		}
		err := cluster.Start(ctx)
		if err == nil {
			return Restarted, nil
		}
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		c.env.Logf("  the control plane does not start again, so a new one is created and its objects are lost: %v", err)
	}
	if cluster != nil || exists(cfg.Dir) {
		if err := c.discard(ctx, cfg); err != nil {
			return "", err
		}
	}
	if err := os.WriteFile(cfg.AuditPolicy, []byte(auditPolicy), 0o600); err != nil {
		return "", fmt.Errorf("write the audit policy: %w", err)
	}
	if _, err := c.env.Tools.Create(ctx, cfg); err != nil {
		return "", err
	}
	return Started, c.linkLogs(cfg)
}

// discard removes a cluster that is broken or belongs to other versions of the tools.
func (c *ControlPlane) discard(ctx context.Context, cfg controlplane.Config) error {
	old := c.env.Tools.Attach(cfg)
	return errors.Join(old.Delete(ctx), os.RemoveAll(cfg.Dir))
}

func (c *ControlPlane) linkLogs(cfg controlplane.Config) error {
	for name, link := range c.Logs() {
		if err := os.MkdirAll(filepath.Dir(link), 0o750); err != nil {
			return fmt.Errorf("link the logs of the control plane: %w", err)
		}
		if err := os.Remove(link); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("link the logs of the control plane: %w", err)
		}
		if err := os.Symlink(cfg.LogFile(name), link); err != nil {
			return fmt.Errorf("link the logs of the control plane: %w", err)
		}
	}
	return nil
}

// KeepLogs replaces the links with the logs, before the cluster's directory is removed.
func (c *ControlPlane) KeepLogs() error {
	for name, link := range c.Logs() {
		if err := os.Rename(c.config().LogFile(name), link); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("keep the log of %s: %w", name, err)
		}
	}
	return nil
}

// Stop stops the components and keeps the data.
func (c *ControlPlane) Stop(ctx context.Context) error {
	return c.env.Tools.Attach(c.config()).Stop(ctx)
}

// Status returns the status of each component.
func (c *ControlPlane) Status(ctx context.Context) []Status {
	cluster := c.env.Tools.Attach(c.config())
	running, err := cluster.Components()
	if err != nil {
		return []Status{{Name: c.Name(), Health: err.Error()}}
	}
	known := map[string]Status{}
	for _, one := range running {
		if one.Running() {
			known[one.Name] = Status{Name: one.Name, PID: one.PID, Health: OK}
		}
	}
	var all []Status
	for _, name := range components {
		s, ok := known[name]
		if !ok {
			s = Status{Name: name, Health: "not running"}
		}
		if ok && name == apiServer {
			s.Address = serverOf(c.env.Kubeconfig())
			if err := cluster.Ready(ctx); err != nil {
				s.Health = err.Error()
			}
		}
		all = append(all, s)
	}
	return all
}

var serverLine = regexp.MustCompile(`(?m)^\s*server: (\S+)$`)

func serverOf(kubeconfig string) string {
	data, err := os.ReadFile(kubeconfig)
	if err != nil {
		return ""
	}
	if m := serverLine.FindSubmatch(data); m != nil {
		return string(m[1])
	}
	return ""
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

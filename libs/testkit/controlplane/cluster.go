package controlplane

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/flotilla-dev/flotilla/libs/testkit/kubectl"
	"github.com/flotilla-dev/flotilla/libs/testkit/proc"
)

// Cluster is a control plane in Config.Dir. It outlives the process that created it.
type Cluster struct {
	Config
	// Kubeconfig is a file with an administrator's credentials.
	Kubeconfig string
	tools      Tools
}

// Component is one process of a cluster.
type Component struct {
	Name string
	PID  int
	Log  string // file
	dir  string // of its cluster; the command line contains it
}

// Running reports whether the process is alive and is this component, not another process with a reused pid.
func (c Component) Running() bool {
	if !proc.Alive(c.PID) {
		return false
	}
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", c.PID))
	return err == nil && strings.Contains(string(line), c.dir)
}

const (
	createAttempts = 3
	startTimeout   = time.Minute // after it, kwokctl ends without an error
	readyTimeout   = 2 * time.Minute
)

// Open returns the cluster that these tools created in cfg.Dir, and reports whether it exists. It ignores a cluster of
// other versions of the tools.
func (t Tools) Open(cfg Config) (*Cluster, bool) {
	c := t.Attach(cfg)
	for _, file := range []string{c.Kubeconfig, filepath.Join(cfg.clusterDir(), "kwok.yaml")} {
		if _, err := os.Stat(file); err != nil {
			return nil, false
		}
	}
	data, err := os.ReadFile(cfg.configFile()) // names the programs
	if err != nil || !strings.Contains(string(data), t.Dir+string(filepath.Separator)) {
		return nil, false
	}
	return c, true
}

// Attach returns the cluster of cfg.Dir, running or not, so that the caller can inspect or stop it.
func (t Tools) Attach(cfg Config) *Cluster {
	return &Cluster{Config: cfg, Kubeconfig: cfg.kubeconfig(), tools: t}
}

// Create starts a new cluster and returns when its API server and its nodes are ready. It retries with other ports if
// another process has taken one.
func (t Tools) Create(ctx context.Context, cfg Config) (*Cluster, error) {
	if cfg.Nodes == 0 {
		cfg.Nodes = DefaultNodes
	}
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("create the directory of cluster %q: %w", cfg.Name, err)
	}
	c := t.Attach(cfg)
	var err error
	for range createAttempts {
		if err = c.create(ctx); err == nil {
			return c, nil
		}
		err = fmt.Errorf("create cluster %q: %w%s", cfg.Name, err, c.logTail())
		if deleteErr := c.Delete(context.WithoutCancel(ctx)); deleteErr != nil || ctx.Err() != nil {
			return nil, errors.Join(err, deleteErr)
		}
	}
	return nil, err
}

func (c *Cluster) create(ctx context.Context) error {
	text, err := c.render(c.tools)
	if err != nil {
		return err
	}
	file := c.configFile()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return fmt.Errorf("write the configuration of kwokctl: %w", err)
	}
	err = c.kwokctl(ctx, "create", "cluster", "--config", file, "--kubeconfig", c.Kubeconfig,
		"--timeout", startTimeout.String(), "--wait", startTimeout.String())
	if err != nil {
		return err
	}
	if err := c.waitControllers(ctx); err != nil {
		return err
	}
	if err := c.ScaleNodes(ctx, c.Nodes); err != nil {
		return err
	}
	return c.waitNodes(ctx)
}

// Start starts the components that are not running, with their existing data.
func (c *Cluster) Start(ctx context.Context) error {
	if err := c.startMissing(ctx); err != nil {
		return err
	}
	if err := c.waitControllers(ctx); err != nil {
		return err
	}
	return c.waitNodes(ctx)
}

func (c *Cluster) startMissing(ctx context.Context) error {
	if err := c.removeStalePIDs(); err != nil {
		return err
	}
	err := c.kwokctl(ctx, "start", "cluster", "--timeout", startTimeout.String(), "--wait", startTimeout.String())
	if err != nil {
		return fmt.Errorf("start cluster %q: %w%s", c.Name, err, c.logTail())
	}
	return nil
}

// Stop stops all components and keeps the data.
func (c *Cluster) Stop(ctx context.Context) error {
	if _, err := os.Stat(c.clusterDir()); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return c.kwokctl(ctx, "stop", "cluster")
}

// Delete stops the cluster and removes its data. It returns nil if the cluster does not exist.
func (c *Cluster) Delete(ctx context.Context) error {
	if _, err := os.Stat(c.clusterDir()); err == nil {
		if err := c.kwokctl(ctx, "delete", "cluster"); err != nil {
			return fmt.Errorf("delete cluster %q: %w", c.Name, err)
		}
	}
	for _, path := range []string{c.clusterDir(), c.Kubeconfig} {
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("delete cluster %q: %w", c.Name, err)
		}
	}
	return nil
}

// ScaleNodes sets the number of simulated nodes.
func (c *Cluster) ScaleNodes(ctx context.Context, n int) error {
	if err := c.kwokctl(ctx, "scale", "node", "--replicas", strconv.Itoa(n)); err != nil {
		return fmt.Errorf("scale the nodes of cluster %q: %w", c.Name, err)
	}
	c.Nodes = n
	return nil
}

// Ready returns nil when every component runs and the API server reports ready.
func (c *Cluster) Ready(ctx context.Context) error {
	components, err := c.Components()
	if err != nil {
		return err
	}
	if len(components) < len(portNames)-1 { // etcd has two ports
		return fmt.Errorf("only %d components were started", len(components))
	}
	for _, comp := range components {
		if !comp.Running() {
			return fmt.Errorf("%s does not run", comp.Name)
		}
	}
	return c.kubectl(ctx, "get", "--raw", "/readyz", "--request-timeout=5s")
}

// Components lists the processes of the cluster, running or not.
func (c *Cluster) Components() ([]Component, error) {
	files, err := filepath.Glob(filepath.Join(c.clusterDir(), "pids", "*.pid"))
	if err != nil {
		return nil, fmt.Errorf("list the components of cluster %q: %w", c.Name, err)
	}
	var all []Component
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read a pid of cluster %q: %w", c.Name, err)
		}
		name := strings.TrimSuffix(filepath.Base(file), ".pid")
		pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
		if err != nil {
			return nil, fmt.Errorf("read the pid of %s: %w", name, err)
		}
		all = append(all, Component{
			Name: name, PID: pid, Log: c.LogFile(name), dir: c.clusterDir(),
		})
	}
	return all, nil
}

// removeStalePIDs removes the pid files of components that exited. Otherwise kwokctl would not start these components: it
// mistakes a zombie, or another process with the same pid, for a running component.
func (c *Cluster) removeStalePIDs() error {
	components, err := c.Components()
	if err != nil {
		return err
	}
	for _, comp := range components {
		if comp.Running() {
			continue
		}
		if err := os.Remove(filepath.Join(c.clusterDir(), "pids", comp.Name+".pid")); err != nil {
			return fmt.Errorf("forget the dead %s: %w", comp.Name, err)
		}
	}
	return nil
}

// waitNodes waits until every node is ready. Pods that are created earlier would wait for the scheduler's retry.
func (c *Cluster) waitNodes(ctx context.Context) error {
	if c.Nodes == 0 {
		return nil
	}
	err := c.kubectl(ctx, "wait", "--for=condition=Ready", "node", "--all", "--timeout="+readyTimeout.String())
	if err != nil {
		return fmt.Errorf("wait for the nodes of cluster %q: %w", c.Name, err)
	}
	return nil
}

// Kubectl runs kubectl on the cluster.
func (c *Cluster) Kubectl() kubectl.Client {
	return kubectl.Client{Program: c.tools.Path("kubectl"), Kubeconfig: c.Kubeconfig}
}

func (c *Cluster) kubectl(ctx context.Context, args ...string) error {
	_, err := c.Kubectl().Run(ctx, "", args...)
	return err
}

func (c *Cluster) kwokctl(ctx context.Context, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, 3*startTimeout)
	defer cancel()
	args = append([]string{"--name", c.Name}, args...)
	cmd := exec.CommandContext(ctx, c.tools.Path("kwokctl"), args...)
	cmd.Env = append(os.Environ(),
		"KWOK_WORKDIR="+c.Dir,
		"PATH="+c.tools.Dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	if c.Marker != "" {
		cmd.Env = append(cmd.Env, c.Marker)
	}
	cmd.Dir = c.Dir
	// The servers that kwokctl leaves behind inherit their own log files only, so waiting for its output is safe.
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("kwokctl %s: %w: %s", strings.Join(args[2:], " "), err, errorLines(out))
	}
	return nil
}

// errorLines returns the errors in kwokctl's log, which is JSON unless kwokctl runs on a terminal.
func errorLines(out []byte) string {
	var lines []string
	for line := range strings.Lines(string(out)) {
		var entry struct{ Level, Msg, Err string }
		switch err := json.Unmarshal([]byte(line), &entry); {
		case err != nil:
			lines = append(lines, strings.TrimSpace(line))
		case entry.Level == "ERROR":
			lines = append(lines, strings.TrimSpace(entry.Msg+": "+entry.Err))
		}
	}
	return strings.Join(lines, "\n")
}

// logTail returns the last lines of each component's log, to append to an error.
func (c *Cluster) logTail() string {
	files, err := filepath.Glob(filepath.Join(c.clusterDir(), "logs", "*.log"))
	if err != nil {
		return ""
	}
	var b strings.Builder
	for _, file := range files {
		if tail := proc.Tail(file, 5); tail != "" {
			fmt.Fprintf(&b, "\n%s:\n  %s", filepath.Base(file), strings.ReplaceAll(tail, "\n", "\n  "))
		}
	}
	return b.String()
}

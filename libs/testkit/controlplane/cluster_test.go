package controlplane

import (
	"context"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/flotilla-dev/flotilla/libs/testkit/proc"
	"github.com/flotilla-dev/flotilla/libs/testkit/watchdog"
)

// newCluster starts a cluster that is removed when the test ends, even by a crash.
func newCluster(t *testing.T) *Cluster {
	t.Helper()
	tools, err := Find()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	marker := watchdog.Marker("CONTROLPLANE_TEST", dir)
	guard, err := watchdog.Start(watchdog.Cleanup{Marker: marker, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := guard.Release(); err != nil {
			t.Error(err)
		}
	})
	c, err := tools.Create(t.Context(), Config{Name: "test", Dir: dir, Nodes: 2, Marker: marker})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func component(t *testing.T, c *Cluster, name string) Component {
	t.Helper()
	all, err := c.Components()
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range all {
		if one.Name == name {
			return one
		}
	}
	t.Fatalf("no component %s among %v", name, all)
	return Component{}
}

func TestClusterSurvivesRestartAndComponentFailure(t *testing.T) {
	c := newCluster(t)
	ctx := t.Context()
	if err := c.Ready(ctx); err != nil {
		t.Fatal(err)
	}
	if !proc.Has(component(t, c, "etcd").PID, c.Marker) {
		t.Error("etcd does not have the marker")
	}
	if err := c.kubectl(ctx, "create", "namespace", "kept"); err != nil {
		t.Fatal(err)
	}
	checkNoLeases(ctx, t, c)

	// An address outside the API server's default range of 254.
	if err := c.kubectl(ctx, "create", "service", "clusterip", "many", "--clusterip=10.0.200.1", "--tcp=80"); err != nil {
		t.Error(err)
	}

	checkSchedulerRestarts(ctx, t, c)
	checkWaitForControllers(ctx, t, c)
	if err := c.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	mustRestart(ctx, t, c)

	if _, found := c.tools.Open(c.Config); !found {
		t.Error("the cluster is not found in its directory")
	}
	if _, found := (Tools{Dir: "/other/tools"}).Open(c.Config); found {
		t.Error("Open returned a cluster of other tools")
	}
	if err := c.Delete(ctx); err != nil {
		t.Fatal(err)
	}
	if err := c.Delete(ctx); err != nil {
		t.Errorf("delete a deleted cluster: %v", err)
	}
	if err := c.Stop(ctx); err != nil {
		t.Errorf("stop a deleted cluster: %v", err)
	}
}

func checkNoLeases(ctx context.Context, t *testing.T, c *Cluster) {
	t.Helper()
	for _, name := range []string{"kube-controller-manager", "kube-scheduler"} {
		if err := c.kubectl(ctx, "get", "lease", "--namespace=kube-system", name); err == nil || !strings.Contains(err.Error(), "not found") {
			t.Errorf("%s holds a Lease and would exit if it cannot renew it: %v", name, err)
		}
	}
}

// checkSchedulerRestarts checks that a start of the cluster starts only the component that ended.
func checkSchedulerRestarts(ctx context.Context, t *testing.T, c *Cluster) {
	t.Helper()
	exited := component(t, c, "kube-scheduler")
	if err := proc.Terminate(ctx, exited.PID, 0); err != nil {
		t.Fatal(err)
	}
	if err := c.Ready(ctx); err == nil {
		t.Error("ready without a scheduler")
	}
	apiserver := component(t, c, "kube-apiserver").PID
	mustRestart(ctx, t, c)
	if now := component(t, c, "kube-apiserver").PID; now != apiserver {
		t.Error("a running API server was restarted")
	}
}

// checkWaitForControllers ends one component after the other, like on a machine with too little CPU, where they are not
// ready in time.
func checkWaitForControllers(ctx context.Context, t *testing.T, c *Cluster) {
	t.Helper()
	for _, name := range []string{"kube-controller-manager", "kube-apiserver"} {
		if err := proc.Terminate(ctx, component(t, c, name).PID, 0); err != nil {
			t.Fatal(err)
		}
		if err := c.waitControllers(ctx); err != nil {
			t.Fatal(err)
		}
		if err := c.Ready(ctx); err != nil {
			t.Errorf("after the end of %s: %v", name, err)
		}
	}
}

func mustRestart(ctx context.Context, t *testing.T, c *Cluster) {
	t.Helper()
	if err := c.Start(ctx); err != nil {
		t.Fatal(err)
	}
	if err := c.Ready(ctx); err != nil {
		t.Fatal(err)
	}
	if err := c.kubectl(ctx, "get", "namespace", "kept"); err != nil {
		t.Errorf("the data is lost: %v", err)
	}
}

func TestCreateCleansUpAfterBrokenComponent(t *testing.T) {
	tools, err := Find()
	if err != nil {
		t.Fatal(err)
	}
	broken := t.TempDir()
	for _, p := range Programs {
		if err := os.Symlink(tools.Path(p.Name), broken+"/"+p.Name); err != nil {
			t.Fatal(err)
		}
	}
	script := "#!/bin/sh\necho the disk is on fire\nexit 3\n"
	if err := os.Remove(broken + "/etcd"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(broken+"/etcd", []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	marker := watchdog.Marker("CONTROLPLANE_TEST", dir)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err = (Tools{Dir: broken}).Create(ctx, Config{Name: "test", Dir: dir, Marker: marker})
	if err == nil || !strings.Contains(err.Error(), "the disk is on fire") {
		t.Fatalf("a cluster without etcd: %v", err)
	}
	pids, listErr := proc.Marked(marker)
	if listErr != nil || len(pids) > 0 {
		t.Errorf("processes %v are left, %v", pids, listErr)
	}
}

// A process that reuses the pid of a dead component must not be mistaken for it.
func TestComponentIsIdentifiedByCommandLine(t *testing.T) {
	other := Component{Name: "etcd", PID: syscall.Getpid(), dir: "/some/cluster"}
	if other.Running() {
		t.Error("this test was mistaken for etcd")
	}
}

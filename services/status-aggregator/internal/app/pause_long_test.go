//go:build long

package app

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"k8s.io/utils/ptr"

	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"

	"github.com/flotilla-dev/flotilla/services/status-aggregator/faults/bar"
)

// startProcess runs the service in a separate process: this program, see TestMain.
func (f *fixture) startProcess(name string) *os.Process {
	f.t.Helper()
	cmd := exec.CommandContext(f.t.Context(), os.Args[0],
		"--cluster-name="+clusterName, "--nats-url="+f.url, "--watch-namespaces="+f.namespace,
		"--leader-election-namespace="+f.namespace, "--conditions-lease-namespace="+f.namespace,
		"--metrics-bind-address=0", "--health-probe-bind-address=0", "--log-level=error")
	cmd.Env = append(os.Environ(), childEnv+"=1", "KUBECONFIG="+f.cluster.Kubeconfig, "POD_NAME="+name)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() {
		// Each call fails if the process has already ended.
		_ = cmd.Process.Signal(syscall.SIGCONT)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd.Process
}

func (f *fixture) waitForHolder(name string) {
	f.t.Helper()
	expect.Eventually(f.t, expect.Long, func() error {
		if l := f.lease(); l == nil || ptr.Deref(l.Spec.HolderIdentity, "") != name {
			return fmt.Errorf("lease: %+v", l)
		}
		return nil
	})
}

// A leader is paused, another one becomes the leader and writes; when the first resumes it
// changes nothing and publishes no event twice.
func TestPausedLeaderWritesNothing(t *testing.T) {
	f := newFixture(t)
	o := f.operator("superset-operator", contract.Superset)
	first := f.startProcess("first")
	f.waitForHolder("first")
	u := f.superset("main")
	flips := f.record(u)
	o.observe(u, 2)
	f.condition(u, conditions.TypeAvailable, "True", conditions.ReasonAllComponentsReady)
	f.startProcess("second")

	if err := first.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	paused := time.Now()
	o.observe(u, 1)
	flips.want(t, conditions.TypeAvailable, "True", "False")
	elapsed := time.Since(paused)
	f.waitForHolder("second")
	o.observe(u, 2)
	flips.want(t, conditions.TypeAvailable, "True", "False", "True")
	history := f.history()

	if err := first.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	expect.Never(t, 25*time.Second, func() error {
		if got := flips.of(conditions.TypeAvailable); got != "[True False True]" {
			return fmt.Errorf("Available was %s", got)
		}
		if got := f.history(); fmt.Sprint(got) != fmt.Sprint(history) {
			return fmt.Errorf("history %q, before %q", got, history)
		}
		if l := f.lease(); ptr.Deref(l.Spec.HolderIdentity, "") != "second" {
			return fmt.Errorf("lease: %+v", l)
		}
		return nil
	})
	if err := bar.Print(os.Stdout, "B7", elapsed.Seconds(), "s until another aggregator has written after the leader was stopped", "20"); err != nil {
		t.Error(err)
	}
}

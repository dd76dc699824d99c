package node_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// stack is a stack in its own directory.
type stack struct {
	t     *testing.T
	root  string // of the checkout
	local string
}

func newStack(t *testing.T) *stack {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	s := &stack{t: t, root: root, local: t.TempDir()}
	t.Cleanup(func() {
		// The test's context has ended by now.
		if out, err := s.make(context.Background(), "down").CombinedOutput(); err != nil {
			t.Errorf("make down: %v\n%s", err, out)
		}
	})
	return s
}

func (s *stack) make(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "make", append([]string{"-C", s.root}, args...)...)
	cmd.Env = append(os.Environ(), "FLOTILLA_LOCAL="+s.local)
	return cmd
}

func (s *stack) run(cmd *exec.Cmd) string {
	s.t.Helper()
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		s.t.Fatalf("%s: %v\n%s%s", strings.Join(cmd.Args, " "), err, out.String(), errOut.String())
	}
	return out.String()
}

func (s *stack) up() {
	s.t.Helper()
	s.t.Log(s.run(s.make(s.t.Context(), "up", "NODE=real", "NODE_FLAGS=--bare")))
}

func (s *stack) kubectl(stdin string, args ...string) string {
	s.t.Helper()
	script := `. "$0/env" && exec kubectl "$@"`
	cmd := exec.CommandContext(s.t.Context(), "bash", append([]string{"-c", script, s.local}, args...)...)
	cmd.Stdin = strings.NewReader(stdin)
	return s.run(cmd)
}

// eventually calls check until it returns nil.
func (s *stack) eventually(what string, check func() error) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 2*time.Minute)
	defer cancel()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		err := check()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			s.t.Fatalf("%s: %v", what, err)
		case <-tick.C:
		}
	}
}

var image = regexp.MustCompile(`flotilla-node/busybox:\S+`)

// TestNode creates a node, uses it, kills it, uses it again and removes it.
func TestNode(t *testing.T) {
	s := newStack(t)
	s.up()
	busybox := image.FindString(s.kubectl("", "get", "configmap", "local-path-config", "--namespace=local-path-storage", "-o", "yaml"))
	if busybox == "" {
		t.Fatal("no image of busybox")
	}
	workload, err := os.ReadFile("testdata/workload.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s.kubectl(strings.ReplaceAll(string(workload), "BUSYBOX", busybox), "apply", "-f", "-")
	s.kubectl("", "rollout", "status", "deployment/web", "--timeout=2m")
	s.kubectl("", "wait", "--for=condition=Complete", "job/ask", "--timeout=2m")

	// The Job resolves the name of the Service, prints the file on its volume, and calls the API server.
	output := s.kubectl("", "logs", "job/ask")
	for _, part := range []string{"Address: 10.96.", "web-", "kept", `"gitVersion": "v1.`} {
		if !strings.Contains(output, part) {
			t.Errorf("the output of the Job lacks %q:\n%s", part, output)
		}
	}
	if out := s.kubectl("", "exec", "deployment/web", "--", "hostname"); !strings.HasPrefix(out, "web-") {
		t.Errorf("exec printed %q", out)
	}
	s.answers()

	t.Log(s.run(s.make(t.Context(), "stack", "ARGS=kill node")))
	s.up()
	s.answers()
	s.eventually("the volume after the outage", func() error {
		s.kubectl(strings.ReplaceAll(reader, "BUSYBOX", busybox), "apply", "-f", "-")
		if out := s.kubectl("", "logs", "pod/reader", "--ignore-errors"); !strings.Contains(out, "kept") {
			return fmt.Errorf("the pod printed %q", out)
		}
		return nil
	})

	traces := s.traces()
	s.run(s.make(t.Context(), "down"))
	for _, what := range traces {
		if out, err := exec.CommandContext(t.Context(), "bash", "-c", what).CombinedOutput(); err == nil {
			t.Errorf("left on the machine: %s\n%s", what, out)
		}
	}
}

// traces returns commands that succeed if the machine has resources of the node. Since other stacks may run on the
// machine, the commands name the device, mounts, processes, cgroups and files of this stack.
func (s *stack) traces() []string {
	s.t.Helper()
	route := s.run(exec.CommandContext(s.t.Context(), "ip", "route", "get", s.address()))
	device := regexp.MustCompile(`dev (flotilla\S+)`).FindStringSubmatch(route)
	if device == nil {
		s.t.Fatalf("the node does not have its own device: %s", route)
	}
	node := filepath.Join(s.local, "node")
	traces := []string{
		"ip link show " + device[1],
		"grep -l 'FLOTILLA_STACK=.*" + s.local + "' /proc/[0-9]*/environ 2> /dev/null | grep .",
		"ls -d " + node,
	}
	for _, what := range traces {
		if out, err := exec.CommandContext(s.t.Context(), "bash", "-c", what).CombinedOutput(); err != nil {
			s.t.Errorf("command does not find the running node: %s\n%s", what, out)
		}
	}
	containers, err := filepath.Glob(filepath.Join(node, "containerd", "io.containerd.grpc.v1.cri", "sandboxes", "*"))
	if err != nil || len(containers) < 4 {
		s.t.Fatalf("sandboxes: %q %v", containers, err)
	}
	for _, id := range containers {
		traces = append(traces, "find /sys/fs/cgroup -name "+filepath.Base(id)+" | grep .")
	}
	return append(traces, "grep "+s.local+" /proc/self/mountinfo", "iptables-save | grep KUBE")
}

// answers waits until the NodePort answers on the node's address.
func (s *stack) answers() {
	s.t.Helper()
	address := s.address()
	s.eventually("the NodePort", func() error {
		req, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, "http://"+address+":30080/", http.NoBody)
		if err != nil {
			return err
		}
		client := http.Client{Timeout: 2 * time.Second}
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		return resp.Body.Close()
	})
}

func (s *stack) address() string {
	s.t.Helper()
	return s.kubectl("", "get", "node", "flotilla", "-o", "jsonpath={.status.addresses[?(@.type=='InternalIP')].address}")
}

const reader = `
apiVersion: v1
kind: Pod
metadata: {name: reader}
spec:
  restartPolicy: Never
  containers:
    - {name: reader, image: BUSYBOX, command: [cat, /data/file], volumeMounts: [{name: data, mountPath: /data}]}
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
`

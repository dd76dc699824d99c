package compose

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/freeport"
	"github.com/flotilla-dev/flotilla/libs/testkit/goprogram"
)

// composed is a running docker-compose.yaml with its own project, ports and network.
type composed struct {
	*docker
	kube  *cluster.Cluster
	env   []string
	nats  string // address
	mysql string // address
	calls string // file with the arguments of calls of kind
}

var (
	services    = goprogram.MustServices("../..")
	longRunning = append([]string{"nats", "mysql"}, services...)
	once        = []string{"bus-bootstrap", "migrate"}
)

func newComposed(t *testing.T) *composed {
	t.Helper()
	c := &composed{docker: start(t), kube: cluster.Get(t)}
	ports, err := freeport.Pick(2)
	if err != nil {
		t.Fatal(err)
	}
	network, inside := c.bridge(t, c.kube.Kubeconfig)
	var kind string
	kind, c.calls = kindProgram(t, c.kube.Kubeconfig, inside)
	c.nats, c.mysql = freeport.Address(ports[0]), freeport.Address(ports[1])
	c.env = []string{
		"COMPOSE_PROJECT_NAME=" + c.project,
		"FLOTILLA_NETWORK=" + network,
		fmt.Sprintf("FLOTILLA_NATS_PORT=%d", ports[0]),
		fmt.Sprintf("FLOTILLA_MYSQL_PORT=%d", ports[1]),
		"FLOTILLA_LOCAL=" + t.TempDir(),
		"KIND=" + kind,
		"KUBECTL=" + c.kube.Tools.Path("kubectl"),
	}
	return c
}

// run runs a command in the checkout with the settings of this test.
func (c *composed) run(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := c.command(t, name, args...)
	cmd.Env = append(cmd.Env, c.env...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s\n%s", name, args, err, out, c.logs())
	}
	return string(out)
}

// logs returns the last log lines of the containers, for failure messages.
func (c *composed) logs() string {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "docker", "compose", "logs", "--no-color", "--tail", "8")
	cmd.Dir, cmd.Env = root(), append(append(os.Environ(), c.guard.env...), c.env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return err.Error()
	}
	return string(out)
}

// container holds the fields of docker inspect that the tests read.
type container struct {
	Name  string
	State struct {
		Status   string
		ExitCode int
		Health   *struct{ Status string }
	}
	Config     struct{ User, Image string }
	HostConfig struct {
		ReadonlyRootfs bool
		CapDrop        []string
		SecurityOpt    []string
		RestartPolicy  struct{ Name string }
		Privileged     bool
		PortBindings   map[string][]struct {
			HostIP string `json:"HostIp"`
		}
	}
}

// containers returns the containers of the project by service.
func (c *composed) containers(t *testing.T) (map[string]container, error) {
	t.Helper()
	all := map[string]container{}
	for _, service := range slices.Concat(longRunning, once) {
		id, err := c.tryRun(t, "ps", "--all", "--quiet", "--filter", "label="+projectLabel+"="+c.project,
			"--filter", "label=com.docker.compose.service="+service)
		if err != nil || id == "" {
			return nil, fmt.Errorf("%s has no container: %w", service, err)
		}
		text, err := c.tryRun(t, "inspect", "--format", "{{json .}}", id)
		if err != nil {
			return nil, err
		}
		var one container
		if err := json.Unmarshal([]byte(text), &one); err != nil {
			return nil, err
		}
		all[service] = one
	}
	return all, nil
}

// healthy waits until services are healthy and one-shot containers have exited with 0.
func (c *composed) healthy(t *testing.T) map[string]container {
	t.Helper()
	var all map[string]container
	expect.Eventually(t, 2*expect.Long, func() (err error) {
		if all, err = c.containers(t); err != nil {
			return err
		}
		for _, service := range longRunning {
			if s := all[service].State; s.Status != "running" || s.Health == nil || s.Health.Status != "healthy" {
				return fmt.Errorf("%s is %+v\n%s", service, s, c.logs())
			}
		}
		for _, service := range once {
			if s := all[service].State; s.Status != "exited" || s.ExitCode != 0 {
				return fmt.Errorf("%s is %+v", service, s)
			}
		}
		return nil
	})
	return all
}

func TestComposeRunsNextToKind(t *testing.T) {
	c := newComposed(t)
	t.Log(c.run(t, "hack/kind.sh", "up"))
	all := c.healthy(t)
	for service, one := range all {
		t.Run("hardened/"+service, func(t *testing.T) { wantHardened(t, one) })
	}
	for _, service := range services {
		t.Run("image/"+service, func(t *testing.T) { c.wantImage(t, service, all[service]) })
	}
	w := c.connect(t)
	w.waitAvailable(t, "first")
	t.Log(c.run(t, "docker", "compose", "restart", "nats"))
	c.healthy(t)
	w.waitAvailable(t, "second")

	t.Log(c.run(t, "hack/kind.sh", "down"))
	left, err := c.left(t, c.project)
	if want := "network " + c.project + "-cluster"; err != nil || !slices.Equal(left, []string{want}) {
		t.Errorf("%v are left, want only this test's own %s: %v", left, want, err)
	}
	calls, err := os.ReadFile(c.calls)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"create cluster --name flotilla --config deploy/kind/cluster.yaml", "delete cluster --name flotilla"} {
		if !strings.Contains(string(calls), want) {
			t.Errorf("kind was not called with %q but with\n%s", want, calls)
		}
	}
}

func wantHardened(t *testing.T, c container) {
	t.Helper()
	if user, _, _ := strings.Cut(c.Config.User, ":"); user == "" || user == "0" || user == "root" {
		t.Errorf("runs as %q", c.Config.User)
	}
	h := c.HostConfig
	if !h.ReadonlyRootfs || h.Privileged || !slices.Contains(h.CapDrop, "ALL") ||
		!slices.Contains(h.SecurityOpt, "no-new-privileges:true") || h.RestartPolicy.Name == "no" {
		t.Errorf("is not hardened: %+v", h)
	}
	for port, bindings := range h.PortBindings {
		for _, b := range bindings {
			if b.HostIP != "127.0.0.1" {
				t.Errorf("port %s is on %q", port, b.HostIP)
			}
		}
	}
}

// wantImage checks labels, user, bill of materials and license texts of an image.
func (c *composed) wantImage(t *testing.T, service string, of container) {
	t.Helper()
	var config struct {
		User   string
		Labels map[string]string
	}
	text := c.docker.docker(t, "image", "inspect", "--format", "{{json .Config}}", of.Config.Image)
	if err := json.Unmarshal([]byte(text), &config); err != nil {
		t.Fatal(err)
	}
	if config.User != "65532:65532" {
		t.Errorf("the image's user is %q", config.User)
	}
	for label := range dockerfileLabels(t) {
		// Only the Dockerfile sets the description, for registries.
		if config.Labels[label] == "" && label != "org.opencontainers.image.description" {
			t.Errorf("no label %s among %v", label, config.Labels)
		}
	}
	dir := t.TempDir()
	c.docker.docker(t, "cp", of.Name[1:]+":"+config.Labels["dev.flotilla.image.sbom"], dir)
	c.docker.docker(t, "cp", of.Name[1:]+":/licenses.txt", dir)
	texts, err := os.ReadFile(filepath.Join(dir, "licenses.txt"))
	if err != nil {
		t.Fatal(err)
	}
	checkLicenses(t, service, string(texts))
	raw, err := os.ReadFile(filepath.Join(dir, "sbom.cdx.json"))
	if err != nil {
		t.Fatal(err)
	}
	var bom struct {
		BOMFormat  string
		Metadata   struct{ Component struct{ Name string } }
		Components []struct{ PURL string }
	}
	if err := json.Unmarshal(raw, &bom); err != nil {
		t.Fatal(err)
	}
	has := func(prefix string) bool {
		return slices.ContainsFunc(bom.Components, func(c struct{ PURL string }) bool { return strings.HasPrefix(c.PURL, prefix) })
	}
	if bom.BOMFormat != "CycloneDX" || !strings.HasSuffix(bom.Metadata.Component.Name, "/"+service) || !has("pkg:golang/std@go1.") || !has("pkg:golang/k8s.io/client-go@v") {
		t.Errorf("the bill of materials is of %+v with %d components", bom.Metadata, len(bom.Components))
	}
}

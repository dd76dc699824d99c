package compose

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
)

const (
	childVar     = "COMPOSE_TEST_CHILD"
	projectLabel = "com.docker.compose.project"
)

func TestMain(m *testing.M) {
	if project := os.Getenv(childVar); project != "" {
		os.Exit(child(project))
	}
	log.SetLogger(logr.Discard())
	code := cluster.Main(m, cluster.Options{})
	if err := shared.release(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// root returns the root of the checkout.
func root() string {
	dir, err := filepath.Abs("../..")
	if err != nil {
		return "../.."
	}
	return dir
}

func newProject() string { return "flotilla-test-" + strings.ToLower(rand.Text()[:8]) }

// guard is a running `hack/docker guard` in a session of its own. It provides a Docker daemon for the tests. When this
// process exits, it removes the project, and the daemon if it started it.
type guard struct {
	cmd  *exec.Cmd
	pipe io.Closer
	env  []string // to add to the environment
}

func newGuard(project string) (*guard, error) {
	cmd := exec.Command(filepath.Join(root(), "hack", "docker"), "guard", project) //nolint:noctx // must outlive this process
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	g := &guard{cmd: cmd, pipe: in}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if lines.Text() == "ready" {
			return g, nil
		}
		g.env = append(g.env, lines.Text())
	}
	return nil, errors.Join(errors.New("Docker is not available, see above"), in.Close(), cmd.Wait())
}

func (g *guard) release() error { return errors.Join(g.pipe.Close(), g.cmd.Wait()) }

// docker is the Docker daemon and the project of this test binary.
type docker struct {
	once    sync.Once
	guard   *guard
	project string
	err     error
}

var shared docker

// start returns when Docker runs and the images exist.
func start(t *testing.T) *docker {
	t.Helper()
	shared.once.Do(func() {
		shared.project = newProject()
		if shared.guard, shared.err = newGuard(shared.project); shared.err != nil {
			return
		}
		var stderr bytes.Buffer
		cmd := shared.command(t, "hack/images.sh", "offline")
		cmd.Stdout, cmd.Stderr = os.Stdout, &stderr
		if err := cmd.Run(); err != nil {
			shared.err = fmt.Errorf("build the images: %w\n%s", err, stderr.String())
		}
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return &shared
}

func (d *docker) release() error {
	if d.guard == nil {
		return nil
	}
	return d.guard.release()
}

// command returns a command in the checkout with the environment for Docker.
func (d *docker) command(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	if strings.Contains(name, "/") {
		name = filepath.Join(root(), name)
	}
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = root()
	cmd.Env = append(os.Environ(), d.guard.env...)
	return cmd
}

// docker runs the Docker client and returns its output.
func (d *docker) docker(t *testing.T, args ...string) string {
	t.Helper()
	out, err := d.tryRun(t, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func (d *docker) tryRun(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var stderr bytes.Buffer
	cmd := d.command(t, "docker", args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("docker %s: %w: %s", strings.Join(args, " "), err, stderr.String())
	}
	return strings.TrimSpace(string(out)), nil
}

// image returns the name of the image in docker-compose.yaml with a prefix.
func (d *docker) image(t *testing.T, prefix string) string {
	t.Helper()
	for image := range strings.SplitSeq(d.docker(t, "compose", "config", "--images"), "\n") {
		if strings.HasPrefix(image, prefix+":") {
			return image
		}
	}
	t.Fatalf("docker-compose.yaml has no image %s", prefix)
	return ""
}

// left lists the containers, networks and volumes of a project.
func (d *docker) left(t *testing.T, project string) ([]string, error) {
	t.Helper()
	var all []string
	for _, list := range [][]string{
		{"ps", "--all", "--format", "container {{.Names}}"},
		{"network", "ls", "--format", "network {{.Name}}"},
		{"volume", "ls", "--format", "volume {{.Name}}"},
	} {
		out, err := d.tryRun(t, append(list, "--filter", "label="+projectLabel+"="+project)...)
		if err != nil {
			return nil, err
		}
		all = append(all, strings.FieldsFunc(out, func(r rune) bool { return r == '\n' })...)
	}
	return all, nil
}

//go:build products

package products

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/desired"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/render"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
)

const (
	release60 = "6.0.0"
	release61 = "6.1.0"
	// mounted is the directory of the files of a workload in its container.
	mounted = "/app/pythonpath"
)

// venv returns the virtual environment of a release.
func venv(t *testing.T, release string) string {
	t.Helper()
	script := exec.CommandContext(t.Context(), "../../../../test/e2e/images/superset/venv.sh", release)
	script.Stderr = os.Stderr
	out, err := script.Output()
	if err != nil {
		t.Fatalf("create the virtual environment of Superset %s: %v", release, err)
	}
	return strings.TrimSpace(string(out))
}

// installation is a Superset resource and where it runs.
type installation struct {
	release string
	store   store
	// secrets are the values behind references, as "name/key".
	secrets map[string]string
	edit    []func(*v1alpha1.SupersetSpec)
	// complete are the types of the tasks that are complete.
	complete []string
}

func (i installation) completed(tasks ...string) installation {
	i.complete = tasks
	return i
}

func (i installation) with(edit ...func(*v1alpha1.SupersetSpec)) installation {
	i.edit = append(append([]func(*v1alpha1.SupersetSpec){}, i.edit...), edit...)
	return i
}

func (i installation) upgraded(release string) installation {
	i.release = release
	return i
}

func key(name string) *corev1.SecretKeySelector {
	return &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: name}, Key: "key"}
}

func (i installation) state(t *testing.T) *desired.State {
	t.Helper()
	sup := &v1alpha1.Superset{
		ObjectMeta: metav1.ObjectMeta{Name: "example", Namespace: "default", UID: "uid"},
		Spec: v1alpha1.SupersetSpec{
			Image: v1alpha1.ImageSpec{Repository: "superset", Tag: i.release}, Environment: v1alpha1.Production,
			SecretKeyFrom: key("old"), Metastore: i.store.spec(),
			WebServer: &v1alpha1.WebServerSpec{}, CeleryWorker: &v1alpha1.CeleryWorkerSpec{}, CeleryBeat: &v1alpha1.CeleryBeatSpec{},
		},
	}
	for _, edit := range i.edit {
		edit(&sup.Spec)
	}
	state, err := desired.For(desired.Input{Superset: sup, Completed: func(kind resolve.TaskKind, _ string) bool {
		return slices.Contains(i.complete, kind.Type)
	}})
	if err != nil {
		t.Fatal(err)
	}
	return state
}

// container is a main container with the command and environment that it would have in the image.
type container struct {
	t    *testing.T
	dir  string
	venv string
	// args is its command, env its environment.
	args, env []string
}

// task returns the container of a task.
func (i installation) task(t *testing.T, slug string) *container {
	t.Helper()
	state := i.state(t)
	for n := range state.Tasks {
		task := &state.Tasks[n]
		if task.Slug != slug {
			continue
		}
		job, err := render.Job(&task.Task, task.Checksum, 1)
		if err != nil {
			t.Fatal(err)
		}
		return i.container(t, task.ConfigMap, &job.Spec.Template.Spec)
	}
	t.Fatalf("task %s not found", slug)
	return nil
}

// component returns the container of a component.
func (i installation) component(t *testing.T, slug string) *container {
	t.Helper()
	state := i.state(t)
	for n := range state.Components {
		if c := &state.Components[n]; c.Slug == slug {
			return i.container(t, c.ConfigMap, &c.Deployment.Spec.Template.Spec)
		}
	}
	t.Fatalf("component %s not found", slug)
	return nil
}

func (i installation) container(t *testing.T, files *corev1.ConfigMap, pod *corev1.PodSpec) *container {
	t.Helper()
	c := &container{t: t, dir: t.TempDir(), venv: venv(t, i.release)}
	for name, text := range files.Data {
		// The Service of the web server has its port, but no name outside a cluster.
		text = strings.ReplaceAll(text, "http://example-web-server:", "http://127.0.0.1:")
		if err := os.WriteFile(filepath.Join(c.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	main := pod.Containers[0]
	for _, arg := range append(append([]string{}, main.Command...), main.Args...) {
		c.args = append(c.args, c.local(arg))
	}
	// The official image sets these variables, the operator all others.
	c.env = []string{
		"PATH=" + c.venv + "/bin:/usr/bin:/bin", "HOME=" + c.dir, "SUPERSET_HOME=" + c.dir, "SUPERSET_ENV=production",
		"PYTHONPATH=" + c.dir, "PYTHONUNBUFFERED=1", "FLASK_APP=superset.app:create_app()", "LC_ALL=C.UTF-8",
	}
	for _, e := range main.Env {
		value := c.local(e.Value)
		if from := e.ValueFrom; from != nil {
			ref := from.SecretKeyRef.Name + "/" + from.SecretKeyRef.Key
			var found bool
			if value, found = i.secrets[ref]; !found {
				t.Fatalf("%s: Secret %s not found", e.Name, ref)
			}
		}
		c.env = append(c.env, e.Name+"="+value)
	}
	return c
}

// local translates paths of the container to local ones, and unescapes dollar signs.
func (c *container) local(text string) string {
	return strings.NewReplacer("$$", "$", mounted, c.dir, "/tmp/celerybeat", c.dir+"/celerybeat", corev1.TerminationMessagePathDefault, c.report()).Replace(text)
}

func (c *container) report() string { return filepath.Join(c.dir, "termination-log") }

func (c *container) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	for _, e := range c.env {
		if path, found := strings.CutPrefix(e, "PATH="); found && !strings.Contains(args[0], "/") {
			for _, dir := range filepath.SplitList(path) {
				if _, err := os.Stat(filepath.Join(dir, args[0])); err == nil {
					cmd.Path, cmd.Err = filepath.Join(dir, args[0]), nil
					break
				}
			}
		}
	}
	cmd.Env, cmd.Dir = c.env, c.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	return cmd
}

// run runs the container's command and returns its exit code, its output, and its termination message.
func (c *container) run() (code int, output, report string) {
	c.t.Helper()
	code, output = c.exec(c.args...)
	text, err := os.ReadFile(c.report())
	if err != nil && !os.IsNotExist(err) {
		c.t.Fatal(err)
	}
	return code, output, string(text)
}

// exec runs another command in the container.
func (c *container) exec(args ...string) (code int, output string) {
	c.t.Helper()
	var out bytes.Buffer
	cmd := c.command(c.t.Context(), args...)
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		c.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String()
}

// python runs a program of testdata in the container and returns the last line that it printed.
func (c *container) python(program string, args ...string) string {
	c.t.Helper()
	path, err := filepath.Abs(filepath.Join("testdata", program))
	if err != nil {
		c.t.Fatal(err)
	}
	code, output := c.exec(append([]string{"python3", path}, args...)...)
	if code != 0 {
		c.t.Fatalf("%s ended with %d:\n%s", program, code, tail(output))
	}
	lines := strings.Split(strings.TrimSpace(output), "\n")
	return lines[len(lines)-1]
}

// succeeds runs the container's command, which must succeed, and returns its termination message.
func (c *container) succeeds() string {
	c.t.Helper()
	code, output, report := c.run()
	if code != 0 {
		c.t.Fatalf("%q ended with %d:\n%s", c.args, code, tail(output))
	}
	return report
}

// fails runs the container's command, which must fail, and returns the last line that it printed.
func (c *container) fails() string {
	c.t.Helper()
	code, output, _ := c.run()
	if code == 0 {
		c.t.Fatalf("%q succeeded:\n%s", c.args, tail(output))
	}
	lines := strings.Split(strings.TrimSpace(output), "\n")
	return lines[len(lines)-1]
}

func tail(text string) string {
	const maxBytes = 4000
	return text[max(len(text)-maxBytes, 0):]
}

package superset_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
)

const (
	repository = "../../../.."
	rendered   = repository + "/services/superset-operator/internal/desired/testdata"
	images     = repository + "/test/e2e/images"
	user       = 1000 // user of the image
)

// pod is the main container of a rendered workload, with its own root file system.
type pod struct {
	t       *testing.T
	root    string
	dir     string // working directory
	command []string
	env     map[string]string
}

// newPod returns the pod of a workload of an example that the operator renders, such as "production", "web-server".
func newPod(t *testing.T, release, example, workload string) *pod {
	t.Helper()
	p := &pod{t: t, root: copyOf(t, release), dir: "/app", env: imageEnvironment(t)}
	container := mainContainer(t, example, workload)
	for _, word := range slices.Concat(container.Command, container.Args) {
		p.command = append(p.command, expanded(word))
	}
	for _, variable := range container.Env {
		p.env[variable.Name] = expanded(variable.Value)
		if variable.ValueFrom != nil {
			p.env[variable.Name] = "from a Secret"
		}
	}
	for file, mount := range map[string]string{
		workload + "-superset_config.py": "app/pythonpath/superset_config.py",
		// The examples contain this file only for components; tasks have the same one.
		"*-superset_bootstrap.sh":          "app/pythonpath/superset_bootstrap.sh",
		workload + "-superset_gunicorn.py": "app/pythonpath/superset_gunicorn.py",
		workload + "-config.json":          "home/superset-websocket/config.json",
		"../../../scripts/secret-keys.py":  "app/pythonpath/superset_secret_keys.py",
		"../../../scripts/preflight.py":    "app/pythonpath/superset_preflight.py",

		"../../../scripts/preflight_servers.py": "app/pythonpath/superset_preflight_servers.py",
	} {
		found, err := filepath.Glob(filepath.Join(rendered, example, file))
		must(t, err)
		if len(found) > 0 {
			data, err := os.ReadFile(found[0])
			must(t, err)
			p.write(mount, string(data))
		}
	}
	p.write("dev/termination-log", "")
	return p
}

// mainContainer returns the container superset of a Deployment or a Job.
func mainContainer(t *testing.T, example, workload string) corev1.Container {
	t.Helper()
	var template corev1.PodTemplateSpec
	if data, err := os.ReadFile(filepath.Join(rendered, example, workload+"-deployment.yaml")); err == nil {
		var deployment appsv1.Deployment
		must(t, yaml.UnmarshalStrict(data, &deployment))
		template = deployment.Spec.Template
	} else {
		data, err := os.ReadFile(filepath.Join(rendered, example, workload+"-job.yaml"))
		must(t, err)
		var job batchv1.Job
		must(t, yaml.UnmarshalStrict(data, &job))
		template = job.Spec.Template
	}
	for _, container := range template.Spec.Containers {
		if container.Name == "superset" {
			return container
		}
	}
	t.Fatalf("%s of %s has no container superset", workload, example)
	return corev1.Container{}
}

// expanded unescapes $$ like the kubelet. The texts of the examples reference no variables.
func expanded(text string) string { return strings.ReplaceAll(text, "$$", "$") }

// imageEnvironment returns the environment that build.sh sets in the image.
func imageEnvironment(t *testing.T) map[string]string {
	t.Helper()
	data, err := os.ReadFile(images + "/superset-stub/build.sh")
	must(t, err)
	found := regexp.MustCompile(`"ENV ([^"]*)"`).FindSubmatch(data)
	if found == nil {
		t.Fatal("build.sh sets no ENV")
	}
	env := map[string]string{}
	for entry := range strings.FieldsSeq(string(found[1])) {
		name, value, _ := strings.Cut(entry, "=")
		env[name] = value
	}
	return env
}

func (p *pod) with(env map[string]string) *pod {
	maps.Copy(p.env, env)
	return p
}

// replaced replaces text in the first matching word of the command, for example a port that pods of a test would share.
func (p *pod) replaced(before, after string) *pod {
	p.t.Helper()
	at := slices.IndexFunc(p.command, func(word string) bool { return strings.Contains(word, before) })
	if at < 0 {
		p.t.Fatalf("no %q in %q", before, p.command)
	}
	p.command[at] = strings.ReplaceAll(p.command[at], before, after)
	return p
}

// configured replaces before in superset_config.py with after, or appends after if before is empty.
func (p *pod) configured(before, after string) {
	p.t.Helper()
	const file = "app/pythonpath/superset_config.py"
	data, err := os.ReadFile(filepath.Join(p.root, file))
	must(p.t, err)
	text := string(data) + after
	if before != "" {
		if !strings.Contains(string(data), before) {
			p.t.Fatalf("no %q in superset_config.py:\n%s", before, data)
		}
		text = strings.Replace(string(data), before, after, 1)
	}
	p.write(file, text)
}

func (p *pod) write(path, text string) {
	p.t.Helper()
	path = filepath.Join(p.root, path)
	must(p.t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(p.t, os.WriteFile(path, []byte(text), 0o600))
	must(p.t, os.Chown(path, user, user))
}

// process is a running pod.
type process struct {
	t    *testing.T
	cmd  *exec.Cmd
	log  *output
	done chan struct{}
}

func (p *pod) start() *process {
	p.t.Helper()
	program := p.command[0]
	if !strings.Contains(program, "/") {
		program = "/usr/bin/" + program
	}
	run := &process{t: p.t, log: &output{}, done: make(chan struct{})}
	run.cmd = &exec.Cmd{
		Path: program, Args: p.command, Dir: p.dir, Env: []string{marker},
		SysProcAttr: &syscall.SysProcAttr{
			Chroot: p.root, Setpgid: true, Credential: &syscall.Credential{Uid: user, Gid: user},
		},
		Stdout: run.log, Stderr: run.log,
	}
	for name, value := range p.env {
		run.cmd.Env = append(run.cmd.Env, name+"="+value)
	}
	must(p.t, run.cmd.Start())
	go func() {
		defer close(run.done)
		_ = run.cmd.Wait() // ProcessState has the result
	}()
	p.t.Cleanup(func() {
		_ = syscall.Kill(-run.cmd.Process.Pid, syscall.SIGKILL) // usually it has exited already
		<-run.done
		if p.t.Failed() {
			p.t.Logf("output of %q:\n%s", p.command, run.log)
		}
	})
	return run
}

// ended waits for the exit and returns the exit code.
func (p *process) ended() int {
	p.t.Helper()
	expect.Eventually(p.t, expect.Long, func() error {
		select {
		case <-p.done:
			return nil
		default:
			return fmt.Errorf("%q is still running: %s", p.cmd.Args, p.log)
		}
	})
	return p.cmd.ProcessState.ExitCode()
}

// succeeded runs a pod of a Job, which must succeed, and returns its output.
func (p *pod) succeeded() string {
	p.t.Helper()
	run := p.start()
	if status := run.ended(); status != 0 {
		p.t.Fatalf("%q exited with %d: %s", p.command, status, run.log)
	}
	return run.log.String()
}

// failed runs a pod, which must fail with reason in its output.
func (p *pod) failed(reason string) {
	p.t.Helper()
	run := p.start()
	if status := run.ended(); status == 0 || !strings.Contains(run.log.String(), reason) {
		p.t.Fatalf("%q exited with %d, want a failure with %q: %s", p.command, status, reason, run.log)
	}
}

// terminated sends SIGTERM like the kubelet. The process must exit with status 0.
func (p *process) terminated() {
	p.t.Helper()
	must(p.t, p.cmd.Process.Signal(syscall.SIGTERM))
	if status := p.ended(); status != 0 {
		p.t.Errorf("%q exited with %d after SIGTERM: %s", p.cmd.Args, status, p.log)
	}
}

func (p *process) waitForLog(text string) {
	p.t.Helper()
	expect.Eventually(p.t, expect.Long, func() error {
		if !strings.Contains(p.log.String(), text) {
			return fmt.Errorf("%q has not logged %q: %s", p.cmd.Args, text, p.log)
		}
		return nil
	})
}

// output is a log that may be read while it is written.
type output struct {
	mutex sync.Mutex
	text  bytes.Buffer
}

func (o *output) Write(data []byte) (int, error) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	return o.text.Write(data)
}

func (o *output) String() string {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	return o.text.String()
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// command runs a program on the host.
func command(ctx context.Context, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, out)
	}
	return nil
}

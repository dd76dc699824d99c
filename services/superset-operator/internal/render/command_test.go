package render_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/render"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
)

// TestBootstrapRunsBeforeCommand runs the real command in a real shell, with stubs of the script and the server.
func TestBootstrapRunsBeforeCommand(t *testing.T) {
	plan := resolve.For(load(t, "hostile"), resolve.Options{})
	web := &plan.Components[0]
	container := render.Deployment(web, "sum").Spec.Template.Spec.Containers[0]
	dir := t.TempDir()
	write(t, dir, "bootstrap.sh", web.Bootstrap)
	write(t, dir, "gunicorn", "#!/bin/sh\necho \"$FROM_BOOTSTRAP\"\nfor a in \"$@\"; do echo \"[$a]\"; done\n")

	command := append([]string{}, container.Command...)
	command[2] = strings.ReplaceAll(command[2], "/app/pythonpath/superset_bootstrap.sh", filepath.Join(dir, "bootstrap.sh"))
	command = append(command, container.Args...)
	shell := exec.CommandContext(t.Context(), command[0], command[1:]...)
	shell.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "SERVER_WORKER_AMOUNT=3")
	out, err := shell.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	// The user's options come after the server's own options, and before the application.
	output := string(out)
	if !strings.HasPrefix(output, "it's here\n") || !strings.HasSuffix(output, "[it's]\n[$HOME]\n[a b]\n[superset.app:create_app()]\n") ||
		!strings.Contains(output, "[--workers]\n[3]\n") {
		t.Errorf("gunicorn was called with\n%s", output)
	}
}

// app is the option of all Celery programs.
const app = "--app=superset.tasks.celery_app:app"

// webCommand returns the web server's command. Other tests run it in a shell and with the product.
func webCommand() []string {
	script := main(workloads(func(*v1alpha1.SupersetSpec) {})["web-server"]).Command[2]
	return []string{"/bin/sh", "-c", script, "superset"}
}

type commandCase struct {
	edit func(*v1alpha1.SupersetSpec)
	want map[string][]string
}

func checkCommands(t *testing.T, cases map[string]commandCase) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			all := workloads(tc.edit)
			for slug, want := range tc.want {
				if diff := cmp.Diff(want, main(all[slug]).Command); diff != "" {
					t.Errorf("command of %s differs (-want +got):\n%s", slug, diff)
				}
			}
		})
	}
}

func TestCommands(t *testing.T) {
	checkCommands(t, map[string]commandCase{
		"defaults": {edit: func(*v1alpha1.SupersetSpec) {}, want: map[string][]string{
			"web-server":    webCommand(),
			"celery-worker": {"celery", app, "worker", "--pool=prefork", "-O", "fair", "-c", "4", "--prefetch-multiplier=1"},
			"celery-beat":   {"celery", app, "beat", "--pidfile", "/tmp/celerybeat.pid", "--schedule", "/tmp/celerybeat-schedule"},
			"celery-flower": {
				"/bin/sh", "-c", "exec celery " + app + ` flower --port=5555 --url_prefix="$SUPERSET_OPERATOR__FLOWER_URL_PREFIX" "$@"`, "superset",
			},
			"mcp-server":       {"superset", "mcp", "run", "--host", "0.0.0.0", "--port", "8088"},
			"websocket-server": nil, // the image's own
		}},
		"the MCP server listens on its container port": {
			edit: func(s *v1alpha1.SupersetSpec) {
				s.MCPServer.PodTemplate = template(&v1alpha1.ContainerTemplate{Ports: []corev1.ContainerPort{{ContainerPort: 9000}}})
			},
			want: map[string][]string{"mcp-server": {"superset", "mcp", "run", "--host", "0.0.0.0", "--port", "9000"}},
		},
	})
}

func TestCommandsOfWorker(t *testing.T) {
	disabled := v1alpha1.PresetDisabled
	checkCommands(t, map[string]commandCase{
		"a worker without presets": {
			edit: func(s *v1alpha1.SupersetSpec) {
				s.CeleryWorker.Celery = &v1alpha1.CeleryWorkerProcessSpec{Preset: &disabled}
			},
			want: map[string][]string{"celery-worker": {"celery", app, "worker", "--pool=prefork", "-O", "fair", "-c", "4"}},
		},
		"a worker with every limit": {
			edit: func(s *v1alpha1.SupersetSpec) {
				s.CeleryWorker.Celery = &v1alpha1.CeleryWorkerProcessSpec{
					Concurrency: new(int32(3)), Pool: new("threads"), Optimization: new("default"), MaxTasksPerChild: new(int32(1)),
					MaxMemoryPerChild: new(int32(2)), PrefetchMultiplier: new(int32(0)), SoftTimeLimit: new(int32(4)), TimeLimit: new(int32(5)),
				}
			},
			want: map[string][]string{"celery-worker": {
				"celery", app, "worker", "--pool=threads", "-O", "default", "-c", "3",
				"--max-tasks-per-child=1", "--max-memory-per-child=2", "--soft-time-limit=4", "--time-limit=5",
			}},
		},
	})
}

func TestCommandsOfUser(t *testing.T) {
	checkCommands(t, map[string]commandCase{
		"a command of the user is kept, with and without a bootstrap script": {
			edit: func(s *v1alpha1.SupersetSpec) {
				s.BootstrapScript = new("true")
				own := template(&v1alpha1.ContainerTemplate{Command: []string{"/bin/sh", "-c", "mine"}})
				s.WebServer.PodTemplate, s.CeleryWorker.PodTemplate, s.CeleryFlower.PodTemplate = own, own, own
			},
			want: map[string][]string{
				"web-server": {"/bin/sh", "-c", "mine"}, "celery-worker": {"/bin/sh", "-c", "mine"}, "celery-flower": {"/bin/sh", "-c", "mine"},
				"websocket-server": nil,
			},
		},
		"the websocket server runs the user's command": {
			edit: func(s *v1alpha1.SupersetSpec) {
				s.WebsocketServer.PodTemplate = template(&v1alpha1.ContainerTemplate{Command: []string{"node", "dist/index.js", "start"}})
			},
			want: map[string][]string{"websocket-server": {"node", "dist/index.js", "start"}},
		},
		"a command of the top-level template is ignored": {
			edit: func(s *v1alpha1.SupersetSpec) {
				s.PodTemplate = template(&v1alpha1.ContainerTemplate{Command: []string{"mine"}, Args: []string{"mine"}})
			},
			want: map[string][]string{"web-server": webCommand()},
		},
	})
}

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

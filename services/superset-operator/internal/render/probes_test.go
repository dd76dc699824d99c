package render_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/component"
)

func TestProbes(t *testing.T) {
	own := &corev1.Probe{PeriodSeconds: 99}
	all := workloads(func(s *v1alpha1.SupersetSpec) {
		s.CeleryFlower.Service = &v1alpha1.ComponentServiceSpec{GatewayPath: new("/tools/flower/")}
		s.MCPServer.PodTemplate = template(&v1alpha1.ContainerTemplate{ReadinessProbe: own, Ports: []corev1.ContainerPort{{ContainerPort: 9000}}})
		s.CeleryWorker.PodTemplate = template(&v1alpha1.ContainerTemplate{LivenessProbe: own})
		s.WebServer.PodTemplate = template(&v1alpha1.ContainerTemplate{Env: []corev1.EnvVar{{Name: "SUPERSET_APP_ROOT", Value: "/root/"}}})
		s.WebServer.Gunicorn = &v1alpha1.GunicornSpec{Timeout: new(int32(300))}
	})
	type probe struct {
		path      string
		port, tcp int32
		failAfter int32 // seconds until the probe fails
	}
	read := func(p *corev1.Probe) probe {
		switch {
		case p == nil:
			return probe{}
		case p == own || p.PeriodSeconds == 99:
			return probe{path: "own"}
		case p.InitialDelaySeconds != 0:
			t.Errorf("a delay although a startup probe exists: %+v", p)
		}
		failAfter := p.PeriodSeconds * p.FailureThreshold
		if p.TCPSocket != nil {
			return probe{tcp: p.TCPSocket.Port.IntVal, failAfter: failAfter}
		}
		return probe{path: p.HTTPGet.Path, port: p.HTTPGet.Port.IntVal, failAfter: failAfter}
	}
	http := func(path string, port int32) [3]probe {
		return [3]probe{{path, port, 0, 30}, {path, port, 0, 30}, {path, port, 0, 600}}
	}
	want := map[string][3]probe{
		"web-server":       {{"/root/health", 8088, 0, 360}, {"/root/health", 8088, 0, 30}, {"/root/health", 8088, 0, 600}},
		"celery-worker":    {{path: "own"}, {}, {}}, // without a broker there is no heartbeat
		"celery-beat":      {},
		"celery-flower":    http("/tools/flower/healthcheck", 5555),
		"mcp-server":       {{"", 0, 9000, 30}, {path: "own"}, {"", 0, 9000, 600}},
		"websocket-server": http("/health", 8080),
	}
	for slug, d := range all {
		c := main(d)
		got := [3]probe{read(c.LivenessProbe), read(c.ReadinessProbe), read(c.StartupProbe)}
		if got != want[slug] {
			t.Errorf("%s: probes %+v, want %+v", slug, got, want[slug])
		}
	}
}

// TestBusyWebServerIsNotKilled checks the time until liveness fails: /health waits while all threads answer requests
// of the maximum duration.
func TestBusyWebServerIsNotKilled(t *testing.T) {
	for timeout, want := range map[*int32]int32{nil: 120, new(int32(1)): 70, new(int32(61)): 130} {
		d := workloads(func(s *v1alpha1.SupersetSpec) { s.WebServer.Gunicorn = &v1alpha1.GunicornSpec{Timeout: timeout} })
		p := main(d[component.WebServerName]).LivenessProbe
		if got := p.PeriodSeconds * p.FailureThreshold; got != want {
			t.Errorf("killed after %d s, want %d", got, want)
		}
	}
}

// TestWorkerIsNotKilledDuringTask checks that a worker has the liveness probe only if it sends heartbeats, also while a task
// runs. All have the startup probe, whose file is written before the first task.
func TestWorkerIsNotKilledDuringTask(t *testing.T) {
	type args = []string
	for _, tc := range []struct {
		pool string
		args args
		want bool
	}{
		{"prefork", nil, true},
		{"threads", nil, true},
		{"gevent", nil, false},
		{"eventlet", nil, false},
		{"solo", nil, false},
		{"prefork", args{"--without-heartbeat"}, false},
		{"prefork", args{"-l", "INFO", "--without-gossip", "--without-mingle", "--heartbeat-interval=10"}, true},
		{"prefork", args{"--heartbeat-interval", "3600"}, false},
		{"prefork", args{"--heartbeat-interval=$(INTERVAL)"}, false},
		{"prefork", args{"--pool=solo"}, false},
		{"prefork", args{"--pool", "gevent"}, false},
		{"prefork", args{"-P", "eventlet"}, false},
		{"prefork", args{"-Psolo"}, false},
		{"prefork", args{"--pool=$(POOL)"}, false},
		{"prefork", args{"--pool=custom"}, false},
		{"prefork", args{"-P", "threads"}, true},
		{"solo", args{"--pool=processes"}, true},
		{"prefork", args{"--pool=solo", "-P", "prefork"}, true},
		{"prefork", args{"--pool"}, true}, // Celery rejects it
		{"", nil, true},
		{"", args{"--pool=solo"}, false},
	} {
		t.Run(strings.Join(append(args{tc.pool}, tc.args...), " "), func(t *testing.T) {
			worker := main(workloads(func(s *v1alpha1.SupersetSpec) {
				s.Valkey = &v1alpha1.ValkeySpec{Host: "valkey"}
				s.CeleryWorker.Celery = &v1alpha1.CeleryWorkerProcessSpec{Pool: &tc.pool}
				if tc.pool == "" {
					s.CeleryWorker.Celery.Preset = new(v1alpha1.PresetDisabled)
				}
				s.CeleryWorker.PodTemplate = template(&v1alpha1.ContainerTemplate{Args: tc.args})
			})[component.CeleryWorkerName])
			if got := worker.LivenessProbe != nil; got != tc.want || worker.StartupProbe == nil {
				t.Errorf("has a liveness probe: %v, want %v; startup probe %v", got, tc.want, worker.StartupProbe)
			}
		})
	}
}

// TestLivenessProbe runs the real probe with files of several ages, with and without a broker.
func TestLivenessProbe(t *testing.T) {
	all := workloads(func(s *v1alpha1.SupersetSpec) { s.Valkey = &v1alpha1.ValkeySpec{Host: "valkey"} })
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	port := fmt.Sprint(listener.Addr().(*net.TCPAddr).Port)
	for _, slug := range []string{"celery-worker", "celery-beat"} {
		command := main(all[slug]).LivenessProbe.Exec.Command
		file := filepath.Join(t.TempDir(), "life")
		alive := func(port string) bool {
			args := slices.Clone(command)
			args[2], args[3] = expand([]corev1.EnvVar{{Name: "w", Value: args[2]}})["w"], file
			cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
			cmd.Env = append(os.Environ(), "SUPERSET_OPERATOR__VALKEY_HOST=127.0.0.1", "SUPERSET_OPERATOR__VALKEY_PORT="+port)
			return cmd.Run() == nil
		}
		if alive(port) || !alive("1") {
			t.Errorf("%s: without a file, alive is %v, and %v without a broker", slug, alive(port), alive("1"))
		}
		write(t, filepath.Dir(file), "life", "")
		if !alive(port) {
			t.Errorf("%s is not alive with a new file", slug)
		}
		old := time.Now().Add(-time.Hour)
		if err := os.Chtimes(file, old, old); err != nil {
			t.Fatal(err)
		}
		if alive(port) || !alive("1") {
			t.Errorf("%s: with an old file, alive is %v, and %v without a broker", slug, alive(port), alive("1"))
		}
		command = slices.Clone(command)
		if command[5] = "/proc/self/stat"; !alive(port) { // the probe itself instead of the container
			t.Errorf("%s: a new container is not alive with the file of a former one", slug)
		}
		if s := main(all[slug]).StartupProbe; s.PeriodSeconds*s.FailureThreshold < 300 || !slices.Contains(s.Exec.Command, "test -e "+command[3]) {
			t.Errorf("%s: startup probe %+v", slug, s)
		}
	}
}

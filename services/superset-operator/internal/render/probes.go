package render

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/component"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/render/pyconfig"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
)

type probes struct{ liveness, readiness, startup *corev1.Probe }

// componentProbes returns the user's probes, and the component's defaults at the resolved port for the others.
func componentProbes(c *resolve.Component) probes {
	defaults, t := defaultProbes(c), c.Pod.Container
	return probes{
		liveness:  orDefault(t.LivenessProbe, defaults.liveness),
		readiness: orDefault(t.ReadinessProbe, defaults.readiness),
		startup:   orDefault(t.StartupProbe, defaults.startup),
	}
}

// defaultProbes returns the probes of a component; liveness and readiness start once the startup probe has succeeded.
func defaultProbes(c *resolve.Component) probes {
	port := intstr.FromInt32(c.Port())
	var handler corev1.ProbeHandler
	switch c.Descriptor.Name {
	case component.WebServerName:
		handler = httpGet(strings.TrimRight(c.AppRoot, "/")+"/health", port)
		return probes{liveness: busyServerProbe(handler, c.Python.WebServerTimeout), readiness: probe(handler), startup: startup(handler)}
	case component.WebsocketServerName:
		handler = httpGet("/health", port)
	case component.CeleryFlowerName:
		handler = httpGet(strings.TrimRight(c.Path, "/")+"/healthcheck", port)
	case component.MCPServerName:
		handler = corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: port}}
	default:
		return celeryProbes(c)
	}
	return probes{liveness: probe(handler), readiness: probe(handler), startup: startup(handler)}
}

// celeryProbes returns probes of the file that the worker or the scheduler touches. A command of the user may run another
// program, so it gets none.
func celeryProbes(c *resolve.Component) probes {
	if c.Python.Heartbeat == "" || c.Python.Valkey == nil || c.Python.Valkey.Broker == nil || len(c.Pod.Container.Command) > 0 {
		return probes{}
	}
	heartbeat := probe(execute("python3", "-c", heartbeatScript, pyconfig.HeartbeatFile, fmt.Sprint(staleAfter), "/proc/1/stat"))
	heartbeat.PeriodSeconds, heartbeat.TimeoutSeconds = 60, 15
	started := startup(execute("/bin/sh", "-c", "test -e "+pyconfig.HeartbeatFile))
	if c.Descriptor.Name == component.CeleryWorkerName && !sendsHeartbeats(c) {
		return probes{startup: started}
	}
	return probes{liveness: heartbeat, startup: started}
}

// answeringPools are the pools whose tasks leave the thread that sends heartbeats. With the others a worker sends none during a
// task: with solo during each one, with gevent and eventlet during one that waits in a C library, as the drivers of
// PostgreSQL and MySQL do.
var answeringPools = []string{"prefork", "processes", "threads"}

// sendsHeartbeats reports whether a worker sends heartbeats often enough, also while tasks run. Of an option that occurs
// repeatedly, Celery uses the last occurrence, so the user's arguments override the default command.
func sendsHeartbeats(c *resolve.Component) bool {
	args := c.Pod.Container.Args
	if slices.Contains(args, "--without-heartbeat") {
		return false
	}
	if interval, found := lastOption(args, "--heartbeat-interval="); found {
		if seconds, err := strconv.Atoi(interval); err != nil || seconds > staleAfter {
			return false
		}
	}
	pool, found := lastOption(args, "--pool=", "-P")
	if !found && c.Celery != nil {
		pool, found = c.Celery.Pool, true
	}
	return !found || slices.Contains(answeringPools, pool)
}

// lastOption returns the value of the last occurrence of an option, which follows one of the prefixes or is the next argument.
func lastOption(args []string, prefixes ...string) (value string, found bool) {
	for i, arg := range args {
		for _, prefix := range prefixes {
			rest, joined := strings.CutPrefix(arg, prefix)
			switch separate := arg == strings.TrimSuffix(prefix, "="); {
			case separate && i+1 < len(args):
				value, found = args[i+1], true
			case joined && !separate:
				value, found = rest, true
			}
		}
	}
	return value, found
}

// staleAfter is how old, in seconds, the file may be. A scheduler without a schedule writes it every five minutes.
const staleAfter = 600

// heartbeatScript succeeds while the file or the container is new enough, since the file of a former container remains in the
// pod. It also succeeds while the broker does not answer: without a broker no message arrives, and a restart would only end
// running tasks. It does not import Superset, which would take ten seconds of a core each time.
const heartbeatScript = `import os, socket, sys, time
try:
    age = time.time() - os.stat(sys.argv[1]).st_mtime
except FileNotFoundError:
    age = float("inf")
try:
    with open(sys.argv[3]) as stat:
        started = int(stat.read().rsplit(")", 1)[1].split()[19]) / os.sysconf("SC_CLK_TCK")
    age = min(age, time.clock_gettime(time.CLOCK_BOOTTIME) - started)
except (OSError, ValueError, IndexError):
    pass
if age > float(sys.argv[2]):
    try:
        socket.create_connection((os.environ["` + pyconfig.EnvValkeyHost + `"], int(os.environ["` + pyconfig.EnvValkeyPort + `"])), 5).close()
    except OSError:
        sys.exit(0)
    sys.exit(f"the last sign of life is {age:.0f} s old")
`

func execute(args ...string) corev1.ProbeHandler {
	for i := range args {
		args[i] = escapeDollars(args[i])
	}
	return corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: args}}
}

func httpGet(path string, port intstr.IntOrString) corev1.ProbeHandler {
	return corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: port, Scheme: corev1.URISchemeHTTP}}
}

// probe returns a probe with a period of ten seconds.
func probe(handler corev1.ProbeHandler) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler: *handler.DeepCopy(), PeriodSeconds: 10, TimeoutSeconds: 5, FailureThreshold: 3,
	}
}

// defaultRequestTimeout is gunicorn's, in seconds, unless the spec sets another one.
const defaultRequestTimeout = 60

// busyServerProbe returns a liveness probe that fails a minute after the longest request has ended: the probe's request
// waits for a thread like any other one, so the kubelet must not kill a server whose threads are all busy. Gunicorn
// itself replaces a worker that hangs.
func busyServerProbe(handler corev1.ProbeHandler, timeout int32) *corev1.Probe {
	if timeout == 0 {
		timeout = defaultRequestTimeout
	}
	p := probe(handler)
	p.FailureThreshold = (timeout + 60 + p.PeriodSeconds - 1) / p.PeriodSeconds
	return p
}

// startup returns a probe that allows a process ten minutes: importing Superset takes 10 s of a whole core for each
// process, and they start together.
func startup(handler corev1.ProbeHandler) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler: *handler.DeepCopy(), PeriodSeconds: 5, TimeoutSeconds: 5, FailureThreshold: 120,
	}
}

func orDefault[T any](user, fallback *T) *T {
	if user != nil {
		return user
	}
	return fallback
}

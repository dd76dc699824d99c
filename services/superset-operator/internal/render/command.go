package render

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/component"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/scripts"
)

const (
	celeryApp = "superset.tasks.celery_app:app"
	shellName = "superset"
)

// componentCommand returns the main container's command: the user's, or the
// default one with the bootstrap script before it; nil for the image's own.
func componentCommand(c *resolve.Component) []string {
	if user := c.Pod.Container.Command; len(user) > 0 {
		return user
	}
	return bootstrapped(c.Bootstrap, defaultCommand(c))
}

func defaultCommand(c *resolve.Component) []string {
	switch c.Descriptor.Name {
	case component.CeleryWorkerName:
		return workerCommand(c.Celery)
	case component.CeleryBeatName:
		return []string{
			"celery", "--app=" + celeryApp, "beat",
			"--pidfile", "/tmp/celerybeat.pid", "--schedule", "/tmp/celerybeat-schedule",
		}
	case component.CeleryFlowerName:
		// The prefix is the user's text, so the shell takes it from the environment.
		return []string{
			"/bin/sh", "-c",
			"exec celery --app=" + celeryApp + fmt.Sprintf(` flower --port=%d --url_prefix="$`, c.Port()) + envFlowerPrefix + `" "$@"`, shellName,
		}
	case component.MCPServerName:
		host := "0.0.0.0"
		if c.IPv6 {
			host = "::"
		}
		return []string{"superset", "mcp", "run", "--host", host, "--port", fmt.Sprint(c.Port())}
	case component.WebsocketServerName:
		return nil // its files differ between releases
	}
	host := "0.0.0.0"
	if c.IPv6 {
		host = "[::]"
	}
	return []string{"/bin/sh", "-c", fmt.Sprintf(webServer, host), shellName}
}

// webServer runs gunicorn as run-server.sh of Superset's image does, with the same variables and in place of the shell, so
// that signals reach it: that script's own shell stays the parent and forwards none. Requests in progress keep their
// usual timeout. A configuration of the image or the user replaces the operator's. The address [::] accepts IPv4 too.
const webServer = `[ -e gunicorn.conf.py ] || export GUNICORN_CMD_ARGS="--config ` + configDir + "/" + gunicornKey + ` ${GUNICORN_CMD_ARGS:-}"
exec gunicorn --bind "${SUPERSET_BIND_ADDRESS:-%s}:${SUPERSET_PORT:-8088}" \
  --access-logfile "${ACCESS_LOG_FILE:--}" --error-logfile "${ERROR_LOG_FILE:--}" \
  --workers "${SERVER_WORKER_AMOUNT:-1}" --worker-class "${SERVER_WORKER_CLASS:-gthread}" \
  --threads "${SERVER_THREADS_AMOUNT:-20}" --log-level "${GUNICORN_LOGLEVEL:-info}" \
  --timeout "${GUNICORN_TIMEOUT:-60}" --graceful-timeout "${GUNICORN_TIMEOUT:-60}" \
  --keep-alive "${GUNICORN_KEEPALIVE:-2}" \
  --max-requests "${WORKER_MAX_REQUESTS:-0}" --max-requests-jitter "${WORKER_MAX_REQUESTS_JITTER:-0}" \
  --limit-request-line "${SERVER_LIMIT_REQUEST_LINE:-0}" \
  --limit-request-field_size "${SERVER_LIMIT_REQUEST_FIELD_SIZE:-0}" \
  "$@" "${FLASK_APP:-superset.app:create_app()}"`

func workerCommand(c *resolve.Celery) []string {
	if c == nil {
		return []string{"celery", "--app=" + celeryApp, "worker", "--pool=prefork", "-O", "fair", "-c", "4"}
	}
	command := []string{
		"celery", "--app=" + celeryApp, "worker",
		"--pool=" + c.Pool, "-O", c.Optimization, "-c", fmt.Sprint(c.Concurrency),
	}
	for _, limit := range []struct {
		flag  string
		value int32
	}{
		{"--max-tasks-per-child", c.MaxTasksPerChild},
		{"--max-memory-per-child", c.MaxMemoryPerChild},
		{"--prefetch-multiplier", c.PrefetchMultiplier},
		{"--soft-time-limit", c.SoftTimeLimit},
		{"--time-limit", c.TaskTimeLimit},
	} {
		if limit.value > 0 {
			command = append(command, fmt.Sprintf("%s=%d", limit.flag, limit.value))
		}
	}
	return command
}

// taskCommand returns a task's command: the user's unchanged, or the default one
// with the bootstrap script before it.
func taskCommand(t *resolve.Task) []string {
	if len(t.Command) > 0 {
		return t.Command
	}
	return bootstrapped(t.Bootstrap, []string{"/bin/sh", "-c", taskScript(t)})
}

func taskScript(t *resolve.Task) string {
	switch t.Kind.Type {
	case resolve.Migrate.Type:
		if t.Checks {
			return preflight("wait") + " && superset db upgrade"
		}
		return "superset db upgrade"
	case resolve.Preflight.Type:
		return preflight("once") + " && " + secretKeys("check")
	case resolve.Rotate.Type:
		return secretKeys("rotate")
	}
	script, next := "superset init", " && "
	if t.AdminUser != nil {
		script, next = escapeDollars(scripts.InitWithAdmin()), ""
	}
	if t.LoadExamples {
		script += next + "superset load-examples"
	}
	return script
}

// preflight returns the command that checks the image, the metastore and the broker. With "wait" it waits for servers that
// are about to start.
func preflight(mode string) string {
	return `if ! command -v python3 > /dev/null; then
  echo "preflight: the image contains no Superset: it has no python3. Correct spec.image" >&2
  exit 1
fi
python3 ` + configDir + "/" + preflightKey + " " + mode
}

// secretKeys returns the command that checks or changes the key of stored secrets. Its counts become the container's
// termination message.
func secretKeys(mode string) string {
	return "exec python3 " + configDir + "/" + secretKeysKey + " " + mode + " " + corev1.TerminationMessagePathDefault
}

// bootstrapped sources the bootstrap script, if there is one, before the command.
// Its variables and functions are visible to the command.
func bootstrapped(bootstrap string, command []string) []string {
	if bootstrap == "" {
		return command
	}
	source := ". " + configDir + "/" + bootstrapKey + "\n"
	if len(command) > 2 && slices.Equal(command[:2], []string{"/bin/sh", "-c"}) {
		return append([]string{"/bin/sh", "-c", source + command[2]}, command[3:]...)
	}
	quoted := make([]string, len(command))
	for i, argument := range command {
		quoted[i] = shellQuote(argument)
	}
	// The last argument is the script's $0, so that the user's args become its "$@".
	return []string{"/bin/sh", "-c", source + "exec " + strings.Join(quoted, " ") + ` "$@"`, shellName}
}

// shellQuote returns text as one word of POSIX shell. Single quotes keep
// everything unchanged, including newlines and dollar signs.
func shellQuote(text string) string {
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// escapeDollars keeps Kubernetes from expanding $(NAME) in the value of a
// variable: every doubled dollar sign reaches the container as one.
func escapeDollars(text string) string { return strings.ReplaceAll(text, "$", "$$") }

package render

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/component"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/render/pyconfig"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
)

// Names of the environment variables that the commands of the containers read.
const (
	envFlowerPrefix   = pyconfig.EnvPrefix + "FLOWER_URL_PREFIX"
	envForceReload    = pyconfig.EnvPrefix + "FORCE_RELOAD"
	envAdminUsername  = pyconfig.EnvPrefix + "ADMIN_USERNAME"
	envAdminPassword  = pyconfig.EnvPrefix + "ADMIN_PASSWORD"
	envAdminFirstName = pyconfig.EnvPrefix + "ADMIN_FIRST_NAME"
	envAdminLastName  = pyconfig.EnvPrefix + "ADMIN_LAST_NAME"
	envAdminEmail     = pyconfig.EnvPrefix + "ADMIN_EMAIL"
	envRotate         = pyconfig.EnvPrefix + "ROTATE"
	envCreateDatabase = pyconfig.EnvPrefix + "CREATE_DATABASE"
	envSkipsMigration = pyconfig.EnvPrefix + "SKIPS_MIGRATION"
	envClones         = pyconfig.EnvPrefix + "CLONES"
	envMigrated       = pyconfig.EnvPrefix + "MIGRATED"
	envServesMCP      = pyconfig.EnvPrefix + "SERVES_MCP"

	// Variables of Superset: the path of the configuration file, and the module that reads it.
	envConfigPath   = "SUPERSET_CONFIG_PATH"
	envConfigModule = "SUPERSET_CONFIG"
)

// componentEnvironment returns the operator's variables of a component.
func componentEnvironment(c *resolve.Component) []corev1.EnvVar {
	extra := gunicornEnvironment(c.Gunicorn)
	if c.Descriptor.Name == component.WebServerName {
		extra = append(extra, number("SUPERSET_PORT", c.Port()))
	}
	if c.Descriptor.Name == component.CeleryFlowerName {
		extra = append(extra, Variable(envFlowerPrefix, c.Path))
	}
	return environment(&c.Workload, extra...)
}

// environment returns the operator's variables of a workload; extra ones go before FORCE_RELOAD. Inputs that a
// workload does not have are omitted.
func environment(w *resolve.Workload, extra ...corev1.EnvVar) []corev1.EnvVar {
	in := &w.Inputs
	env := []corev1.EnvVar{Variable(pyconfig.EnvInstanceName, w.Superset)}
	if w.Python.Rendered {
		// An image, or a source of variables that the operator does not read, may set another configuration.
		env = append(env, Variable(envConfigPath, configDir+"/"+ConfigKey), Variable(envConfigModule, "superset.config"))
	}
	env = appendValue(env, pyconfig.EnvSecretKey, in.SecretKey)
	env = appendValue(env, pyconfig.EnvPreviousSecretKey, in.PreviousSecretKey)
	env = appendValue(env, pyconfig.EnvDatabaseURI, in.DatabaseURI)
	if w.Python.Database.Mode == resolve.DatabaseParts {
		env = append(env, databaseEnvironment(in)...)
	}
	if w.Python.Valkey != nil {
		env = append(env, Variable(pyconfig.EnvValkeyHost, in.ValkeyHost), Variable(pyconfig.EnvValkeyPort, strconv.Itoa(int(in.ValkeyPort))))
		if in.ValkeyUser != "" {
			env = append(env, Variable(pyconfig.EnvValkeyUser, in.ValkeyUser))
		}
		env = appendValue(env, pyconfig.EnvValkeyPassword, in.ValkeyPassword)
	}
	env = append(env, extra...)
	if in.ForceReload != "" {
		env = append(env, Variable(envForceReload, in.ForceReload))
	}
	return env
}

func gunicornEnvironment(g *resolve.Gunicorn) []corev1.EnvVar {
	if g == nil {
		return nil
	}
	return []corev1.EnvVar{
		number("SERVER_WORKER_AMOUNT", g.Workers),
		number("SERVER_THREADS_AMOUNT", g.Threads),
		Variable("SERVER_WORKER_CLASS", g.WorkerClass),
		number("GUNICORN_TIMEOUT", g.Timeout),
		number("GUNICORN_KEEPALIVE", g.KeepAlive),
		number("WORKER_MAX_REQUESTS", g.MaxRequests),
		number("WORKER_MAX_REQUESTS_JITTER", g.MaxRequestsJitter),
		number("SERVER_LIMIT_REQUEST_LINE", g.LimitRequestLine),
		number("SERVER_LIMIT_REQUEST_FIELD_SIZE", g.LimitRequestFieldSize),
		Variable("GUNICORN_LOGLEVEL", g.LogLevel),
	}
}

// taskEnvironment returns the variables that a task's default command reads.
func taskEnvironment(t *resolve.Task) []corev1.EnvVar {
	env := adminEnvironment(t)
	if t.Rotates {
		env = append(env, Variable(envRotate, "true"))
	}
	if t.CreatesDatabase && !t.Migrated {
		env = append(env, Variable(envCreateDatabase, "true"))
	}
	if t.SkipsMigration {
		env = append(env, Variable(envSkipsMigration, "true"))
	}
	if t.Clones {
		env = append(env, Variable(envClones, "true"))
	}
	if t.Migrated {
		env = append(env, Variable(envMigrated, "true"))
	}
	if t.ServesMCP {
		env = append(env, Variable(envServesMCP, "true"))
	}
	return env
}

func adminEnvironment(t *resolve.Task) []corev1.EnvVar {
	user := t.AdminUser
	if user == nil {
		return nil
	}
	return []corev1.EnvVar{
		Variable(envAdminUsername, user.Username),
		Variable(envAdminPassword, user.Password),
		Variable(envAdminFirstName, user.FirstName),
		Variable(envAdminLastName, user.LastName),
		Variable(envAdminEmail, user.Email),
	}
}

func appendValue(env []corev1.EnvVar, name string, v resolve.Value) []corev1.EnvVar {
	switch {
	case v.From != nil:
		return append(env, corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{SecretKeyRef: v.From}})
	case v.Inline != nil:
		return append(env, Variable(name, *v.Inline))
	}
	return env
}

// Variable returns an environment variable whose value reaches the container
// unchanged, dollar signs included.
func Variable(name, value string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, Value: escapeDollars(value)}
}

func number(name string, value int32) corev1.EnvVar {
	return corev1.EnvVar{Name: name, Value: strconv.Itoa(int(value))}
}

package render

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/render/pyconfig"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/scripts"
)

// Names of the environment variables that the clone script reads, besides those of the metastore.
const (
	envSourceHost     = pyconfig.EnvPrefix + "CLONE_SRC_HOST"
	envSourcePort     = pyconfig.EnvPrefix + "CLONE_SRC_PORT"
	envSourceDatabase = pyconfig.EnvPrefix + "CLONE_SRC_DB"
	envSourceUser     = pyconfig.EnvPrefix + "CLONE_SRC_USER"
	envSourcePassword = pyconfig.EnvPrefix + "CLONE_SRC_PASS"
	// Lists have one variable for each entry, counted from 0: an entry may hold any text.
	envExcludeTable     = pyconfig.EnvPrefix + "CLONE_EXCLUDE_TABLE_"
	envExcludeTableData = pyconfig.EnvPrefix + "CLONE_EXCLUDE_TABLE_DATA_"
	envPostSQL          = pyconfig.EnvPrefix + "CLONE_POST_SQL_"
)

// cloneCommand returns the user's command unchanged, or the script for the source's kind of database.
func cloneCommand(t *resolve.Task) []string {
	if len(t.Command) > 0 {
		return t.Command
	}
	return shell(scripts.Clone(t.Clone.Tool.Type))
}

// cloneEnvironment returns the variables of the script, also for a command of the user.
func cloneEnvironment(t *resolve.Task) []corev1.EnvVar {
	c := t.Clone
	env := appendValue([]corev1.EnvVar{
		plain(envSourceHost, c.Host),
		plain(envSourcePort, strconv.Itoa(int(c.Port))),
		plain(envSourceDatabase, c.Database),
		plain(envSourceUser, c.User),
	}, envSourcePassword, c.Password)
	env = append(env, databaseEnvironment(&t.Inputs)...)
	env = appendList(env, envExcludeTable, c.ExcludeTables)
	env = appendList(env, envExcludeTableData, c.ExcludeTableData)
	return appendList(env, envPostSQL, c.PostSQL)
}

func appendList(env []corev1.EnvVar, prefix string, values []string) []corev1.EnvVar {
	for i, value := range values {
		env = append(env, plain(prefix+strconv.Itoa(i), value))
	}
	return env
}

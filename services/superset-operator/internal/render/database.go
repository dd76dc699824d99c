package render

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/names"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/render/pyconfig"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/scripts"
)

// createDatabase renders the init container that creates the metastore's database.
func createDatabase(t *resolve.Task) corev1.Container {
	tool := t.CreateDatabase
	c := corev1.Container{
		Name:                     names.CreateDatabaseContainer,
		Image:                    tool.Image,
		ImagePullPolicy:          tool.PullPolicy,
		Command:                  shell(scripts.CreateDatabase(tool.Type)),
		Env:                      databaseEnvironment(&t.Inputs),
		SecurityContext:          tool.Security,
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}
	if r := t.Pod.Container.Resources; r != nil {
		c.Resources = *r
	}
	return c
}

// withCreateDatabase adds the container before all others, and replaces a user's container of that name.
func withCreateDatabase(t *resolve.Task, containers []corev1.Container) []corev1.Container {
	if t.CreateDatabase == nil {
		return containers
	}
	remaining := slices.DeleteFunc(slices.Clone(containers), func(c corev1.Container) bool {
		return c.Name == names.CreateDatabaseContainer
	})
	return append([]corev1.Container{createDatabase(t)}, remaining...)
}

// databaseEnvironment returns the variables with the location of a structured metastore.
func databaseEnvironment(in *resolve.Inputs) []corev1.EnvVar {
	return appendValue([]corev1.EnvVar{
		Variable(pyconfig.EnvDatabaseHost, in.DatabaseHost),
		Variable(pyconfig.EnvDatabasePort, strconv.Itoa(int(in.DatabasePort))),
		Variable(pyconfig.EnvDatabaseName, in.DatabaseName),
		Variable(pyconfig.EnvDatabaseUser, in.DatabaseUser),
	}, pyconfig.EnvDatabasePassword, in.DatabasePassword)
}

// shell returns the command that runs a script. Kubernetes would expand $(NAME) in it.
func shell(script string) []string { return []string{"/bin/sh", "-c", escapeDollars(script)} }

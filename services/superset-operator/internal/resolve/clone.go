package resolve

import (
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/names"
)

// CloneTask holds the source and the tools of the clone task.
type CloneTask struct {
	Tool DatabaseTool
	// Host, Port, Database, User and Password locate the source. The target is the metastore, whose location is in
	// the task's inputs.
	Host           string
	Port           int32
	Database, User string
	Password       Value
	// ExcludeTables are omitted, ExcludeTableData are copied without their rows.
	ExcludeTables, ExcludeTableData []string
	// PostSQL runs in the copy, one entry after the other.
	PostSQL []string
	// TargetImage is the image that migrates the copy. A new one needs a new copy,
	// since the last one was migrated for the previous image.
	TargetImage string
}

// cloneTask resolves the clone. It does not run Superset, so it has neither Python nor a bootstrap script. Of the
// settings that tasks share, only the retention applies.
func cloneTask(sup *v1alpha1.Superset) Task {
	spec := &sup.Spec
	settings := spec.Lifecycle.Clone
	source := &settings.Source
	pod := podTemplate(spec.PodTemplate, settings.PodTemplate)
	kind := or(source.Type, v1alpha1.PostgreSQL)
	c := CloneTask{
		Tool: databaseTool(kind, settings.Image, &pod),
		Host: host(source.Host), Port: or(source.Port, toolOf(kind).port),
		Database: source.Database, User: source.Username, Password: Value{source.Password, source.PasswordFrom},
		ExcludeTables: settings.ExcludeTables, ExcludeTableData: settings.ExcludeTableData, PostSQL: settings.PostCloneSQL,
		TargetImage: taskImage(sup),
	}
	image := orZero(settings.Image)
	if len(settings.Command) > 0 && image.Repository != "" {
		// A program of the user in the user's image may need its own UID.
		c.Tool.Security = restricted(&pod, nil)
	}
	t := Task{
		Workload: Workload{
			Superset: sup.Name, Namespace: sup.Namespace, Slug: Clone.Slug,
			Name: names.Job(sup.Name, Clone.Slug), ConfigName: names.Config(sup.Name, Clone.Slug),
			Labels:         names.Task(sup.Name, Clone.Slug),
			ServiceAccount: names.ServiceAccount(sup),
			Image:          c.Tool.Image, PullPolicy: c.Tool.PullPolicy,
			PullSecrets: mergeKeyed(secretName, spec.Image.PullSecrets, image.PullSecrets),
			Pod:         pod,
			Inputs:      target(inputs(sup)),
		},
		Clone: &c,
	}
	t.common(Clone, &settings.BaseTaskSpec, first(settings.PodRetention, spec.Lifecycle.PodRetention))
	t.Pod.Container.SecurityContext = c.Tool.Security
	return t
}

// target returns only the inputs with the location of the metastore.
func target(in Inputs) Inputs {
	return Inputs{
		DatabaseHost: in.DatabaseHost, DatabasePort: in.DatabasePort,
		DatabaseName: in.DatabaseName, DatabaseUser: in.DatabaseUser, DatabasePassword: in.DatabasePassword,
	}
}

package desired

import (
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/checksum"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
)

// chain computes for each task a checksum that also covers the previous tasks, so that all tasks after one that runs
// again do so too. A task that is not enabled counts with the inputs that it last completed with, so disabling and
// enabling it runs no task.
type chain struct {
	uid       string
	completed map[string]string
	done      map[string]string
}

func newChain(uid string, completed map[string]string) *chain {
	return &chain{uid: uid, completed: completed, done: map[string]string{}}
}

// next returns the checksum of a task with the given own inputs. It must be called in the order of the tasks.
func (c *chain) next(kind resolve.TaskKind, own string) string {
	c.done[kind.Type] = own
	b := checksum.New("task/"+kind.Type).String("uid", c.uid)
	for _, k := range resolve.TaskKinds() {
		inputs, enabled := c.done[k.Type]
		if !enabled {
			inputs = c.completed[k.Type]
		}
		if inputs != "" {
			b.String(k.Type, inputs)
		}
		if k.Type == kind.Type {
			break
		}
	}
	return b.Sum()
}

// preflightSums are the checksums of the preflight. The preflight is not part of the chain: no task runs again
// because of it.
type preflightSums struct{ all, settings, keys string }

// preflight computes the checksums of the preflight. The checksum of the keys equals that of earlier releases, which
// checked only the keys. Like init, it covers the settings in superset_config.py and not their formatting.
func preflight(uid string, t *resolve.Task) preflightSums {
	b := checksum.New("task/"+t.Kind.Type).String("uid", uid).String("trigger", t.Trigger).Bool("rotates", t.Rotates)
	value(b, "secretKey", t.Inputs.SecretKey)
	value(b, "previousSecretKey", t.Inputs.PreviousSecretKey)
	keys := b.Sum()
	b = checksum.New("preflight/settings").String("keys", keys).String("bootstrap", t.Bootstrap)
	python(b, &t.Python)
	settings := values(b, &t.Workload).Sum()
	all := checksum.New("preflight").String("settings", settings).String("image", t.Image).String("trigger", t.CheckTrigger)
	if t.ServesMCP {
		all.Bool("servesMCP", true)
	}
	return preflightSums{all: all.Sum(), settings: settings, keys: keys}
}

// inputs covers what makes a task run again, but not how its pod runs. Default scripts and rendered text are left
// out, so that another release of the operator does not run tasks again, in particular not the clone, which drops a
// database.
func inputs(t *resolve.Task, scheduled string) string {
	b := checksum.New("inputs/"+t.Kind.Type).
		List("command", t.Command).String("trigger", t.Trigger).
		String("image", t.ImageInput()).String("bootstrap", t.Bootstrap)
	switch t.Kind.Type {
	case resolve.Clone.Type:
		clone(b, t.Clone, scheduled)
	case resolve.Migrate.Type:
		target(b, t)
	case resolve.Rotate.Type:
		value(b, "secretKey", t.Inputs.SecretKey)
		value(b, "previousSecretKey", t.Inputs.PreviousSecretKey)
	case resolve.Init.Type:
		python(b, &t.Python)
		values(b, &t.Workload)
		if user := t.AdminUser; user != nil {
			b.String("admin.username", user.Username).String("admin.password", user.Password).
				String("admin.firstName", user.FirstName).String("admin.lastName", user.LastName).
				String("admin.email", user.Email)
		}
		b.Bool("loadExamples", t.LoadExamples)
	}
	return b.Sum()
}

func clone(b *checksum.Builder, c *resolve.CloneTask, scheduled string) {
	b.String("tick", scheduled).String("targetImage", c.TargetImage).
		String("source.type", string(c.Tool.Type)).String("source.host", c.Host).Int("source.port", &c.Port).
		String("source.database", c.Database).String("source.username", c.User).
		List("excludeTables", c.ExcludeTables).List("excludeTableData", c.ExcludeTableData).List("postCloneSQL", c.PostSQL)
	value(b, "source.password", c.Password)
}

// target covers the location of a database to create. If none is to be created, the
// location of the metastore does not matter: the image defines the schema.
func target(b *checksum.Builder, t *resolve.Task) {
	if t.CreateDatabase == nil {
		return
	}
	in := &t.Inputs
	b.Bool("createDatabase", true).String("target.type", string(t.CreateDatabase.Type)).
		String("target.host", in.DatabaseHost).Int("target.port", &in.DatabasePort).
		String("target.database", in.DatabaseName).String("target.username", in.DatabaseUser)
}

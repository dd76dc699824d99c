package desired

import (
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/checksum"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
)

// chain gives each task a checksum that also covers the tasks before it, so that
// when one runs again, so do all after it. A task that is not enabled counts with
// the inputs that it last completed with: disabling it, and enabling it again,
// runs nothing.
type chain struct {
	uid  string
	kept map[string]string
	done map[string]string
}

func newChain(uid string, kept map[string]string) *chain {
	return &chain{uid: uid, kept: kept, done: map[string]string{}}
}

// next returns the checksum of a task with the given own inputs. Tasks come in their order.
func (c *chain) next(kind resolve.TaskKind, own string) string {
	c.done[kind.Type] = own
	b := checksum.New("task/"+kind.Type).String("uid", c.uid)
	for _, k := range resolve.TaskKinds() {
		inputs, enabled := c.done[k.Type]
		if !enabled {
			inputs = c.kept[k.Type]
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

// inputs covers what makes a task run again, but not how its pod runs. Default
// scripts and rendered text are left out, so that another release of the operator
// does not run tasks again.
func inputs(t *resolve.Task, tick string) string {
	b := checksum.New("inputs/"+t.Kind.Type).
		List("command", t.Command).String("trigger", t.Trigger).
		String("image", t.Image).String("bootstrap", t.Bootstrap)
	if t.Kind.Type == resolve.Clone.Type {
		b.String("tick", tick)
	}
	if t.Kind.Type == resolve.Init.Type {
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

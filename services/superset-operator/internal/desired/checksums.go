package desired

import (
	"maps"
	"slices"
	"strconv"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/checksum"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/render"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
)

// shared covers the settings that reach all components.
func shared(spec *v1alpha1.SupersetSpec) string {
	b := checksum.New("shared").
		Optional("secretKey", spec.SecretKey).SecretRef("secretKeyFrom", spec.SecretKeyFrom).
		Optional("config", spec.Config).Optional("bootstrapScript", spec.BootstrapScript)
	if m := spec.Metastore; m != nil {
		b.Optional("metastore.uri", m.URI).SecretRef("metastore.uriFrom", m.URIFrom).
			Optional("metastore.type", (*string)(m.Type)).Optional("metastore.driver", m.Driver).
			Optional("metastore.host", m.Host).Int("metastore.port", m.Port).
			Optional("metastore.database", m.Database).Optional("metastore.username", m.Username).
			Optional("metastore.password", m.Password).SecretRef("metastore.passwordFrom", m.PasswordFrom)
	}
	if o := spec.SQLAEngineOptions; o != nil {
		b.Optional("sqlaEngineOptions.preset", (*string)(o.Preset)).
			Int("sqlaEngineOptions.poolSize", o.PoolSize).Int("sqlaEngineOptions.maxOverflow", o.MaxOverflow).
			Int("sqlaEngineOptions.poolRecycle", o.PoolRecycle).Int("sqlaEngineOptions.poolTimeout", o.PoolTimeout).
			Bool("sqlaEngineOptions.poolPrePing", o.PoolPrePing != nil && *o.PoolPrePing)
	}
	return b.Sum()
}

// config covers the files and inline secrets of one workload. It stands on the
// pods, so it follows the rendered text: other text, other pods.
func config(w *resolve.Workload) string {
	b := checksum.New("config").String("python", render.Config(&w.Python)).String("bootstrap", w.Bootstrap)
	return values(b, w).Sum()
}

func values(b *checksum.Builder, w *resolve.Workload) *checksum.Builder {
	in := &w.Inputs
	value(b, "secretKey", in.SecretKey)
	value(b, "previousSecretKey", in.PreviousSecretKey)
	value(b, "databaseURI", in.DatabaseURI)
	value(b, "databasePassword", in.DatabasePassword)
	return b.String("databaseHost", in.DatabaseHost).String("databasePort", strconv.Itoa(int(in.DatabasePort))).
		String("databaseName", in.DatabaseName).String("databaseUser", in.DatabaseUser)
}

func value(b *checksum.Builder, name string, v resolve.Value) {
	b.Optional(name, v.Inline).SecretRef(name+"From", v.From)
}

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

// python covers what superset_config.py says, not how it is written.
func python(b *checksum.Builder, p *resolve.Python) {
	b.Bool("previousSecretKey", p.PreviousSecretKey).
		String("database.mode", string(p.Database.Mode)).String("database.scheme", p.Database.Scheme).
		Optional("config", p.Config).Optional("componentConfig", p.ComponentConfig).
		Bool("nullPool", p.Pool != nil && p.Pool.Null)
	for _, name := range slices.Sorted(maps.Keys(p.FeatureFlags)) {
		b.String("flag."+name, strconv.FormatBool(p.FeatureFlags[name]))
	}
}

package desired

import (
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/checksum"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/render"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
)

// shared covers the settings that apply to all Python components, without those that
// tune one component.
func shared(spec *v1alpha1.SupersetSpec) string {
	b := checksum.New("shared").
		Optional("secretKey", spec.SecretKey).SecretRef("secretKeyFrom", spec.SecretKeyFrom).
		Optional("previousSecretKey", spec.PreviousSecretKey).SecretRef("previousSecretKeyFrom", spec.PreviousSecretKeyFrom).
		Optional("config", spec.Config).Optional("bootstrapScript", spec.BootstrapScript)
	if m := spec.Metastore; m != nil {
		b.Optional("metastore.uri", m.URI).SecretRef("metastore.uriFrom", m.URIFrom).
			Optional("metastore.type", (*string)(m.Type)).Optional("metastore.driver", m.Driver).
			Optional("metastore.host", m.Host).Int("metastore.port", m.Port).
			Optional("metastore.database", m.Database).Optional("metastore.username", m.Username).
			Optional("metastore.password", m.Password).SecretRef("metastore.passwordFrom", m.PasswordFrom)
	}
	if v := spec.Valkey; v != nil {
		valkey(b, resolve.ValkeyOf(v))
		b.String("valkey.host", v.Host).Int("valkey.port", v.Port).Optional("valkey.username", v.Username).
			Optional("valkey.password", v.Password).SecretRef("valkey.passwordFrom", v.PasswordFrom)
	}
	if o := spec.SQLAEngineOptions; o != nil {
		b.Optional("sqlaEngineOptions.preset", (*string)(o.Preset)).
			Int("sqlaEngineOptions.poolSize", o.PoolSize).Int("sqlaEngineOptions.maxOverflow", o.MaxOverflow).
			Int("sqlaEngineOptions.poolRecycle", o.PoolRecycle).Int("sqlaEngineOptions.poolTimeout", o.PoolTimeout).
			Bool("sqlaEngineOptions.poolPrePing", o.PoolPrePing != nil && *o.PoolPrePing)
	}
	flags(b, spec.FeatureFlags)
	return b.Sum()
}

// config returns the fingerprint of the files and inline secrets of one component.
// It is an annotation of the pods and covers the rendered text in the ConfigMap, so
// that other text replaces the pods. It is empty for a component without files.
func config(c *resolve.Component, files *corev1.ConfigMap) string {
	b := checksum.New("config")
	switch {
	case c.Descriptor.Python:
		b.String("python", files.Data[render.ConfigKey]).String("bootstrap", c.Bootstrap)
		return values(b, &c.Workload).Sum()
	case c.JSONFrom != nil:
		return b.String("json", "secret:"+c.JSONFrom.Name+":"+c.JSONFrom.Key).Sum()
	case c.JSON != nil:
		return b.String("json", files.Data[render.DocumentKey]).Sum()
	}
	return ""
}

func values(b *checksum.Builder, w *resolve.Workload) *checksum.Builder {
	in := &w.Inputs
	value(b, "secretKey", in.SecretKey)
	value(b, "previousSecretKey", in.PreviousSecretKey)
	value(b, "databaseURI", in.DatabaseURI)
	value(b, "databasePassword", in.DatabasePassword)
	b.String("databaseHost", in.DatabaseHost).String("databasePort", strconv.Itoa(int(in.DatabasePort))).
		String("databaseName", in.DatabaseName).String("databaseUser", in.DatabaseUser)
	if w.Python.Valkey != nil {
		value(b, "valkeyPassword", in.ValkeyPassword)
		b.String("valkeyHost", in.ValkeyHost).String("valkeyPort", strconv.Itoa(int(in.ValkeyPort))).
			String("valkeyUser", in.ValkeyUser)
	}
	return b
}

func value(b *checksum.Builder, name string, v resolve.Value) {
	b.Optional(name, v.Inline).SecretRef(name+"From", v.From)
}

// python covers the settings in superset_config.py, not their formatting.
func python(b *checksum.Builder, p *resolve.Python) {
	b.Bool("previousSecretKey", p.PreviousSecretKey).
		String("database.mode", string(p.Database.Mode)).String("database.scheme", p.Database.Scheme).
		Optional("config", p.Config).Optional("componentConfig", p.ComponentConfig).
		Bool("nullPool", p.Pool != nil && p.Pool.Null)
	flags(b, p.FeatureFlags)
	valkey(b, p.Valkey)
}

func flags(b *checksum.Builder, set map[string]bool) {
	for _, name := range slices.Sorted(maps.Keys(set)) {
		b.String("flag."+name, strconv.FormatBool(set[name]))
	}
}

// valkey covers the caches and the rest with their defaults filled in.
func valkey(b *checksum.Builder, v *resolve.Valkey) {
	if v == nil {
		return
	}
	if t := v.TLS; t != nil {
		b.String("valkey.tls.certRequired", t.CertRequired).String("valkey.tls.keyFile", t.KeyFile).
			String("valkey.tls.certFile", t.CertFile).String("valkey.tls.caCertFile", t.CACertFile)
	}
	for i := range v.Caches {
		c := &v.Caches[i]
		name := "valkey." + c.Setting
		b.Int(name+".database", &c.Database).String(name+".prefix", c.Prefix).Int(name+".timeout", &c.Fingerprint)
	}
	b.Int("valkey.broker", v.Broker).Int("valkey.resultBackend", v.ResultBackend)
	if r := v.Results; r != nil {
		b.Int("valkey.results.database", &r.Database).String("valkey.results.prefix", r.Prefix)
	}
}

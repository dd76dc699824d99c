package render

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
)

// Keys of the ConfigMap.
const (
	// ConfigKey is that of a Python workload's configuration.
	ConfigKey    = "superset_config.py"
	bootstrapKey = "superset_bootstrap.sh"
	// secretKeysKey is that of the program which checks and changes the key of stored secrets.
	secretKeysKey = "superset_secret_keys.py"
)

// Config returns the text of superset_config.py.
func Config(p *resolve.Python) string {
	var b strings.Builder
	b.Grow(4096)
	writeImports(&b, p)
	b.WriteString("\n# Operator-generated configs\n")
	fmt.Fprintf(&b, "SECRET_KEY = os.environ[%s]\n", pyString(envSecretKey))
	if p.PreviousSecretKey {
		fmt.Fprintf(&b, "PREVIOUS_SECRET_KEY = os.environ.get(%s)\n", pyString(envPreviousSecretKey))
	}
	writeDatabase(&b, &p.Database)
	if p.WebServerPort != 0 {
		fmt.Fprintf(&b, "SUPERSET_WEBSERVER_PORT = %d\n", p.WebServerPort)
	}
	writePool(&b, p.Pool)
	writeFlags(&b, p.FeatureFlags)
	writeValkey(&b, p.Valkey)
	b.WriteString("\n")
	writeRaw(&b, "spec.config", p.Config)
	writeRaw(&b, "component config", p.ComponentConfig)
	return b.String()
}

func writeImports(b *strings.Builder, p *resolve.Python) {
	b.WriteString("import os\n")
	switch {
	case p.Valkey != nil && p.Valkey.TLS != nil:
		b.WriteString("from urllib.parse import quote, urlencode\n")
	case p.Valkey != nil || p.Database.Mode == resolve.DatabaseParts:
		b.WriteString("from urllib.parse import quote\n")
	}
	if p.Valkey != nil && p.Valkey.Results != nil {
		b.WriteString("from cachelib.redis import RedisCache\n")
	}
	if p.Pool != nil && p.Pool.Null {
		b.WriteString("from sqlalchemy.pool import NullPool\n")
	}
}

func writeDatabase(b *strings.Builder, db *resolve.Database) {
	switch db.Mode {
	case resolve.DatabaseNone:
		return
	case resolve.DatabaseURI:
		fmt.Fprintf(b, "SQLALCHEMY_DATABASE_URI = os.environ[%s]\n", pyString(envDatabaseURI))
	case resolve.DatabaseParts:
		writeDatabaseParts(b, db.Scheme)
	}
	b.WriteString("SQLALCHEMY_EXAMPLES_URI = SQLALCHEMY_DATABASE_URI\n")
}

// writeDatabaseParts builds the URI at run time from the environment, each part percent-quoted.
func writeDatabaseParts(b *strings.Builder, scheme string) {
	quoted := func(name string) string { return fmt.Sprintf(`quote(os.environ[%s], safe="")`, pyString(name)) }
	fmt.Fprintf(b, "SQLALCHEMY_DATABASE_URI = (\n    %s\n", pyString(scheme+"://"))
	fmt.Fprintf(b, "    + %s\n", quoted(envDatabaseUser))
	fmt.Fprintf(b, "    + (\":\" + %s if %s in os.environ else \"\")\n", quoted(envDatabasePassword), pyString(envDatabasePassword))
	fmt.Fprintf(b, "    + \"@\" + os.environ[%s]\n", pyString(envDatabaseHost))
	fmt.Fprintf(b, "    + \":\" + os.environ[%s]\n", pyString(envDatabasePort))
	fmt.Fprintf(b, "    + \"/\" + %s\n)\n", quoted(envDatabaseName))
}

func writePool(b *strings.Builder, pool *resolve.Pool) {
	if pool == nil {
		return
	}
	b.WriteString("SQLALCHEMY_ENGINE_OPTIONS = {\n")
	if pool.Null {
		b.WriteString("    \"poolclass\": NullPool,\n}\n")
		return
	}
	fmt.Fprintf(b, "    \"pool_size\": %d,\n", pool.Size)
	fmt.Fprintf(b, "    \"max_overflow\": %d,\n", pool.MaxOverflow)
	if pool.Recycle > 0 {
		fmt.Fprintf(b, "    \"pool_recycle\": %d,\n", pool.Recycle)
	}
	fmt.Fprintf(b, "    \"pool_pre_ping\": %s,\n", pyBool(pool.PrePing))
	if pool.Timeout > 0 {
		fmt.Fprintf(b, "    \"pool_timeout\": %d,\n", pool.Timeout)
	}
	b.WriteString("}\n")
}

func writeFlags(b *strings.Builder, flags map[string]bool) {
	if len(flags) == 0 {
		return
	}
	b.WriteString("FEATURE_FLAGS = {\n")
	for _, name := range slices.Sorted(maps.Keys(flags)) {
		fmt.Fprintf(b, "    %s: %s,\n", pyString(name), pyBool(flags[name]))
	}
	b.WriteString("}\n")
}

// writeRaw appends the user's Python as it is; it is theirs by definition.
func writeRaw(b *strings.Builder, title string, raw *string) {
	if raw == nil || *raw == "" {
		return
	}
	fmt.Fprintf(b, "# %s\n%s\n\n", title, strings.TrimRight(*raw, "\n"))
}

package pyconfig

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
)

// exit configures how a process exits. It prevents the garbage collection at exit, which takes seconds with the
// objects of Superset. It prints the cause of an error last, since Superset wraps an error of the metastore in one
// without a message, and the kubelet keeps only the end of the output.
const exit = `atexit.register(gc.freeze)


def _print_cause(kind, error, trace):
    sys.__excepthook__(kind, error, trace)
    cause = error
    while cause.__cause__:
        cause = cause.__cause__
    if cause is not error:
        print(*traceback.format_exception_only(cause), sep="", end="", file=sys.stderr)


sys.excepthook = _print_cause
`

// Config returns the text of superset_config.py.
func Config(p *resolve.Python) string {
	var b strings.Builder
	b.Grow(4096)
	writeImports(&b, p)
	b.WriteString("\n# Operator-generated configs\n")
	fmt.Fprintf(&b, "SECRET_KEY = os.environ[%s]\n", Quote(EnvSecretKey))
	if p.PreviousSecretKey {
		fmt.Fprintf(&b, "PREVIOUS_SECRET_KEY = os.environ.get(%s)\n", Quote(EnvPreviousSecretKey))
		// Sessions that the previous key signed stay valid; Flask reads it from Superset 6.1 on.
		b.WriteString("SECRET_KEY_FALLBACKS = [PREVIOUS_SECRET_KEY] if PREVIOUS_SECRET_KEY else []\n")
	}
	writeDatabase(&b, &p.Database)
	if p.Examples && p.Database.Mode != resolve.DatabaseNone {
		b.WriteString("SQLALCHEMY_EXAMPLES_URI = SQLALCHEMY_DATABASE_URI\n")
	}
	if p.WebServerTimeout != 0 {
		fmt.Fprintf(&b, "SUPERSET_WEBSERVER_TIMEOUT = %d\n", p.WebServerTimeout)
	}
	writePool(&b, p.Pool, &p.Database)
	writeWeb(&b, &p.Web)
	writeFlags(&b, p.FeatureFlags)
	writeValkey(&b, p.Valkey)
	writeLimits(&b, p)
	writeHeartbeat(&b, p.Heartbeat)
	b.WriteString(exit)
	b.WriteString("\n")
	writeRaw(&b, "spec.config", p.Config)
	writeRaw(&b, "component config", p.ComponentConfig)
	if p.MCP {
		b.WriteString(requireMCPAuth)
	}
	return b.String()
}

func writeImports(b *strings.Builder, p *resolve.Python) {
	b.WriteString("import atexit\nimport gc\nimport os\nimport sys\nimport traceback\n")
	switch {
	case p.Valkey != nil:
		b.WriteString("from urllib.parse import quote, urlencode\n")
	case p.Database.Mode == resolve.DatabaseParts:
		b.WriteString("from urllib.parse import quote\n")
	}
	if p.Valkey != nil && p.Valkey.Results != nil {
		b.WriteString("from cachelib.redis import RedisCache\n")
	}
	if p.Pool != nil && p.Pool.Null {
		b.WriteString("from sqlalchemy.pool import NullPool\n")
	}
	if v := p.Valkey; v != nil && (v.Broker != nil || v.ResultBackend != nil) {
		// This file runs at the end of superset.config, so its names are defined.
		b.WriteString("from superset.config import CeleryConfig as SupersetCeleryConfig\n")
	}
}

func writeDatabase(b *strings.Builder, db *resolve.Database) {
	if db.Mode != resolve.DatabaseNone {
		// From 6.1 on Superset would read another metastore from it, after this file.
		b.WriteString("os.environ.pop(\"SUPERSET__SQLALCHEMY_DATABASE_URI\", None)\n")
	}
	switch db.Mode {
	case resolve.DatabaseNone:
		return
	case resolve.DatabaseURI:
		fmt.Fprintf(b, "SQLALCHEMY_DATABASE_URI = os.environ[%s]\n", Quote(EnvDatabaseURI))
	case resolve.DatabaseParts:
		writeDatabaseParts(b, db)
	}
}

// writeDatabaseParts builds the URI at run time from the environment. User and password are percent-quoted. SQLAlchemy
// does not unquote the name of the database, so a special one is not quoted. Quoting changes no other name, and remains,
// since another text would restart the pods.
func writeDatabaseParts(b *strings.Builder, db *resolve.Database) {
	quoted := func(name string) string { return fmt.Sprintf(`quote(os.environ[%s], safe="")`, Quote(name)) }
	fmt.Fprintf(b, "SQLALCHEMY_DATABASE_URI = (\n    %s\n", Quote(db.Scheme+"://"))
	fmt.Fprintf(b, "    + %s\n", quoted(EnvDatabaseUser))
	fmt.Fprintf(b, "    + (\":\" + %s if %s in os.environ else \"\")\n", quoted(EnvDatabasePassword), Quote(EnvDatabasePassword))
	fmt.Fprintf(b, "    + \"@\" + %s\n", uriHost(EnvDatabaseHost, db.IPv6))
	fmt.Fprintf(b, "    + \":\" + os.environ[%s]\n", Quote(EnvDatabasePort))
	name := quoted(EnvDatabaseName)
	if db.SpecialName {
		name = fmt.Sprintf("os.environ[%s]", Quote(EnvDatabaseName))
	}
	fmt.Fprintf(b, "    + \"/\" + %s\n)\n", name)
}

// uriHost returns the host in the variable as a part of a URI, as Python.
func uriHost(name string, ipv6 bool) string {
	host := fmt.Sprintf("os.environ[%s]", Quote(name))
	if ipv6 {
		return `"[" + ` + host + ` + "]"`
	}
	return host
}

func writeFlags(b *strings.Builder, flags map[string]bool) {
	if len(flags) == 0 {
		return
	}
	b.WriteString("FEATURE_FLAGS = {\n")
	for _, name := range slices.Sorted(maps.Keys(flags)) {
		fmt.Fprintf(b, "    %s: %s,\n", Quote(name), literal(flags[name]))
	}
	b.WriteString("}\n")
}

// writeRaw appends the user's Python unchanged; the field is raw Python by definition.
func writeRaw(b *strings.Builder, title string, raw *string) {
	if raw == nil || *raw == "" {
		return
	}
	fmt.Fprintf(b, "# %s\n%s\n\n", title, strings.TrimRight(*raw, "\n"))
}

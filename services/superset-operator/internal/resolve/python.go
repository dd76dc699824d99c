package resolve

import (
	"net/netip"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
)

// Python holds the settings of superset_config.py. It holds no secrets: those reach
// the containers as environment variables ([Inputs]).
type Python struct {
	// Rendered reports whether the workload has a superset_config.py.
	Rendered          bool
	PreviousSecretKey bool
	Database          Database
	// WebServerTimeout is the web server's request timeout in seconds, set for the web server only.
	WebServerTimeout int32
	// Web holds the URLs of the web server.
	Web Web
	// MCP reports whether the workload is the MCP server.
	MCP bool
	// Examples reports whether the task loads the examples.
	Examples bool
	// Heartbeat is set for Celery components: the signal that their process works.
	Heartbeat Heartbeat
	// Pool is nil if no options are rendered.
	Pool         *Pool
	FeatureFlags map[string]bool
	// Valkey is nil if the spec does not configure it.
	Valkey *Valkey
	// Config and ComponentConfig are the user's raw Python; nil when absent.
	Config, ComponentConfig *string
}

// Heartbeat is how a Celery process signals that it works.
type Heartbeat string

// Heartbeats.
const (
	HeartbeatWorker Heartbeat = "worker"
	HeartbeatBeat   Heartbeat = "beat"
)

// Database holds how the connection URI is built.
type Database struct {
	// Mode is empty when the user configures the database in raw Python.
	Mode DatabaseMode
	// Scheme is the URI's scheme with driver, for DatabaseParts.
	Scheme string
	// IPv6 reports whether the host is an IPv6 address, which needs brackets in a URI.
	IPv6 bool
	// SpecialName reports whether the name of the database has characters that percent-quoting changes.
	SpecialName bool
}

// DatabaseMode selects how the connection URI is built.
type DatabaseMode string

// Database modes.
const (
	DatabaseNone  DatabaseMode = ""
	DatabaseURI   DatabaseMode = "uri"   // one variable holds the whole URI
	DatabaseParts DatabaseMode = "parts" // host, port, name, user and password in variables
)

// Inputs are the values behind the environment variables of all Python workloads.
type Inputs struct {
	SecretKey         Value
	PreviousSecretKey Value
	DatabaseURI       Value
	DatabaseHost      string
	DatabasePort      int32
	DatabaseName      string
	DatabaseUser      string
	DatabasePassword  Value
	ValkeyHost        string // empty without Valkey
	ValkeyPort        int32
	ValkeyUser        string
	ValkeyPassword    Value
	ForceReload       string
}

// Value is a secret: inline, a reference, or neither.
type Value struct {
	Inline *string
	From   *corev1.SecretKeySelector
}

func python(sup *v1alpha1.Superset, componentConfig *string) Python {
	spec := &sup.Spec
	return Python{
		Rendered:          true,
		PreviousSecretKey: spec.PreviousSecretKey != nil || spec.PreviousSecretKeyFrom != nil,
		Database:          database(spec.Metastore),
		FeatureFlags:      spec.FeatureFlags,
		Valkey:            ValkeyOf(spec.Valkey),
		Web:               web(sup),
		Config:            spec.Config,
		ComponentConfig:   componentConfig,
	}
}

func database(m *v1alpha1.MetastoreSpec) Database {
	switch {
	case m == nil:
		return Database{}
	case m.URI != nil || m.URIFrom != nil:
		return Database{Mode: DatabaseURI}
	case m.Host == nil:
		return Database{}
	}
	scheme, driver := "postgresql", "psycopg2"
	if isMySQL(m) {
		scheme, driver = "mysql", "mysqldb"
	}
	if m.Driver != nil {
		driver = *m.Driver
	}
	return Database{
		Mode: DatabaseParts, Scheme: scheme + "+" + driver, IPv6: isIPv6(*m.Host),
		SpecialName: !plainName.MatchString(orZero(m.Database)),
	}
}

// plainName matches what Python's urllib.parse.quote leaves unchanged.
var plainName = regexp.MustCompile(`^[A-Za-z0-9_.~-]*$`)

// host returns the host of the spec without the brackets of an IPv6 address: programs expect it without.
func host(spec string) string {
	if isIPv6(spec) {
		return strings.Trim(spec, "[]")
	}
	return spec
}

// isIPv6 reports whether a host of the spec is an IPv6 address, with or without brackets.
func isIPv6(spec string) bool {
	if inner, found := strings.CutPrefix(spec, "["); found {
		if spec, found = strings.CutSuffix(inner, "]"); !found {
			return false
		}
	}
	address, err := netip.ParseAddr(spec)
	return err == nil && address.Is6()
}

func inputs(sup *v1alpha1.Superset) Inputs {
	spec := &sup.Spec
	in := Inputs{
		SecretKey:         Value{spec.SecretKey, spec.SecretKeyFrom},
		PreviousSecretKey: Value{spec.PreviousSecretKey, spec.PreviousSecretKeyFrom},
		ForceReload:       spec.ForceReload,
	}
	m := spec.Metastore
	switch database(m).Mode {
	case DatabaseURI:
		in.DatabaseURI = Value{m.URI, m.URIFrom}
	case DatabaseParts:
		in.DatabaseHost, in.DatabaseName, in.DatabaseUser = host(*m.Host), orZero(m.Database), orZero(m.Username)
		in.DatabasePassword = Value{m.Password, m.PasswordFrom}
		in.DatabasePort = 5432
		if isMySQL(m) {
			in.DatabasePort = 3306
		}
		if m.Port != nil {
			in.DatabasePort = *m.Port
		}
	case DatabaseNone:
	}
	if v := spec.Valkey; v != nil {
		in.ValkeyHost, in.ValkeyPort, in.ValkeyUser = host(v.Host), or(v.Port, 6379), orZero(v.Username)
		in.ValkeyPassword = Value{v.Password, v.PasswordFrom}
	}
	return in
}

func isMySQL(m *v1alpha1.MetastoreSpec) bool { return m.Type != nil && *m.Type == v1alpha1.MySQL }

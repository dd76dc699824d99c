package app

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/flotilla-dev/flotilla/libs/kube/service"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/database"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/httpapi"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/purge"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/sweep"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/webhook"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/writer"
)

// Options are the ingester's own settings.
type Options struct {
	// ConfigFile is a file of settings; flags and the environment override it.
	ConfigFile string
	// Enabled enables the storage of objects, which also requires MySQL settings.
	Enabled bool
	// MySQL holds the connection settings of the database.
	MySQL database.Settings
	// ConcurrentReconciles is the maximum of concurrent reconciles of a kind; the map
	// overrides it by kind.
	ConcurrentReconciles    int
	ConcurrentReconcilesMap map[string]int
	// RequeuePeriod is the maximum backoff after a failure; the map overrides it by kind.
	RequeuePeriod    time.Duration
	RequeuePeriodMap map[string]string
	// EvictImmutableKinds evicts every object of a kind that is immutable by definition.
	EvictImmutableKinds bool
	// Retention is the time after which closed rows are deleted; zero disables the purge.
	Retention time.Duration
	// Sweep finds rows whose object no longer exists.
	Sweep sweep.Options
	// Finalizer is the webhook that adds the finalizer to new objects.
	Finalizer webhook.Options
	// API is the HTTP API.
	API httpapi.Options

	flags *pflag.FlagSet
}

const (
	defaultWorkers       = 256
	defaultRequeuePeriod = 30 * time.Second
)

func (o *Options) addFlags(fs *pflag.FlagSet) {
	o.flags = fs
	fs.StringVar(&o.ConfigFile, "config", "", "YAML file with the stanzas metadataStorage, mysql and ingester; flags and environment override it")
	fs.BoolVar(&o.Enabled, "enable-metadata-storage", true, "store objects; requires the settings of MySQL")
	o.addMySQLFlags(fs)
	fs.IntVar(&o.ConcurrentReconciles, "concurrent-reconciles", defaultWorkers, "maximum concurrent reconciles per kind")
	fs.StringToIntVar(&o.ConcurrentReconcilesMap, "concurrent-reconciles-map", nil, "override of --concurrent-reconciles by kind, for example PipelineRun=10,Model=3")
	fs.DurationVar(&o.RequeuePeriod, "requeue-period", defaultRequeuePeriod, "maximum backoff after a failure")
	fs.StringToStringVar(&o.RequeuePeriodMap, "requeue-period-map", nil, "override of --requeue-period by kind, for example Model=10s")
	fs.BoolVar(&o.EvictImmutableKinds, "evict-immutable-kinds", false, "evict every object of an immutable kind (Model) after its first sync, also without the annotation")
	fs.DurationVar(&o.Retention, "retention", 0, "time after which closed rows are deleted; 0 disables it")
	o.Sweep.AddFlags(fs)
	o.Finalizer.AddFlags(fs)
	o.API.AddFlags(fs)
}

// serverSettings names the settings to check when MySQL rejects the connection.
func (o *Options) serverSettings() string {
	if o.MySQL.DSN != "" {
		return "--mysql-dsn (FLOTILLA_MYSQL_DSN, MYSQL_DSN)"
	}
	return "--mysql-host, --mysql-port, --mysql-user, --mysql-password or --mysql-password-file, --mysql-database"
}

func (o *Options) addMySQLFlags(fs *pflag.FlagSet) {
	m := &o.MySQL
	fs.StringVar(&m.DSN, "mysql-dsn", "", "DSN user:password@tcp(host:3306)/database of MySQL or MariaDB (also MYSQL_DSN); excludes the parts below")
	fs.StringVar(&m.Host, "mysql-host", "", "host of MySQL (also MYSQL_HOST)")
	fs.IntVar(&m.Port, "mysql-port", defaultMySQLPort, "port of MySQL (also MYSQL_PORT)")
	fs.StringVar(&m.User, "mysql-user", "", "user of MySQL (also MYSQL_USER)")
	fs.StringVar(&m.Password, "mysql-password", "", "password of MySQL; process lists show the flag: prefer the environment (also MYSQL_PASSWORD) or a file")
	fs.StringVar(&m.PasswordFile, "mysql-password-file", "", "file with the password of MySQL; read again for each connection")
	fs.StringVar(&m.Database, "mysql-database", "", "database of MySQL (also MYSQL_DATABASE)")
	fs.BoolVar(&m.TLS, "mysql-tls", false, "use TLS for MySQL and verify its certificate; implied by the other TLS flags")
	fs.StringVar(&m.CAFile, "mysql-tls-ca-file", "", "CA bundle for the certificate of MySQL, instead of the CAs of the system")
	fs.StringVar(&m.CertFile, "mysql-tls-cert-file", "", "client certificate for MySQL")
	fs.StringVar(&m.KeyFile, "mysql-tls-key-file", "", "key of the client certificate")
	fs.StringVar(&m.ServerName, "mysql-tls-server-name", "", "server name in the certificate of MySQL; empty means the host")
	fs.IntVar(&m.Pool.MaxOpen, "mysql-max-open-conns", 0,
		fmt.Sprintf("maximum open connections to MySQL, at least %d; 0 means 25; the HTTP API has 8 more", writer.MinConnections))
	fs.IntVar(&m.Pool.MaxIdle, "mysql-max-idle-conns", 0, "maximum idle connections to MySQL; 0 means 10")
	fs.DurationVar(&m.Pool.MaxLifetime, "mysql-conn-max-lifetime", 0, "maximum lifetime of a connection to MySQL; 0 means 5m")
}

const defaultMySQLPort = 3306

// environment returns additional environment variables of the settings, which other programs use too.
func environment() map[string]string {
	return map[string]string{
		"mysql-dsn": "MYSQL_DSN", "mysql-host": "MYSQL_HOST", "mysql-port": "MYSQL_PORT", "mysql-user": "MYSQL_USER",
		"mysql-password": "MYSQL_PASSWORD", "mysql-database": "MYSQL_DATABASE",
	}
}

// On reports whether objects are stored.
func (o *Options) On() bool { return o.Enabled && o.MySQL.Configured() }

// Validate checks the settings. Each error names its flag.
func (o *Options) Validate(common service.Options) error {
	if common.WatchNamespaceSelector != "" {
		// The rows of a namespace that no longer matches, or no longer exists, would never be closed.
		return errors.New("--watch-namespace-selector is not supported by the ingester: set --watch-namespaces")
	}
	if o.ConfigFile != "" {
		if err := o.load(o.ConfigFile); err != nil {
			return fmt.Errorf("--config: %w", err)
		}
	}
	if o.MySQL.Configured() && common.Command != removeFinalizers {
		if _, err := o.MySQL.Connector(); err != nil {
			return err
		}
	}
	if n := o.MySQL.Pool.MaxOpen; n > 0 && n < writer.MinConnections {
		return fmt.Errorf("--mysql-max-open-conns (mysql.maxOpenConns) must be 0 or at least %d, got %d: transactions hold %d connections while a statement is prepared on another",
			writer.MinConnections, n, writer.MinConnections-1)
	}
	if o.ConcurrentReconciles < 1 {
		return fmt.Errorf("--concurrent-reconciles must be at least 1, got %d", o.ConcurrentReconciles)
	}
	if o.RequeuePeriod <= 0 {
		return fmt.Errorf("--requeue-period must be positive, got %s", o.RequeuePeriod)
	}
	if o.Retention < 0 || o.Retention > 0 && o.Retention < purge.MinRetention {
		return fmt.Errorf("--retention must be 0 or at least %s, got %s", purge.MinRetention, o.Retention)
	}
	for _, part := range []interface{ Validate() error }{&o.Sweep, &o.Finalizer, &o.API} {
		if err := part.Validate(); err != nil {
			return err
		}
	}
	return o.validateMaps()
}

func (o *Options) validateMaps() error {
	kinds, err := registry.Load()
	if err != nil {
		return err
	}
	for kind, n := range o.ConcurrentReconcilesMap {
		if _, ok := kinds.Lookup(kind); !ok {
			return fmt.Errorf("--concurrent-reconciles-map: unknown kind %q", kind)
		}
		if n < 1 {
			return fmt.Errorf("--concurrent-reconciles-map must be at least 1 for %s, got %d", kind, n)
		}
	}
	for kind, text := range o.RequeuePeriodMap {
		if _, ok := kinds.Lookup(kind); !ok {
			return fmt.Errorf("--requeue-period-map: unknown kind %q", kind)
		}
		if d, err := time.ParseDuration(text); err != nil || d <= 0 {
			return fmt.Errorf("--requeue-period-map must be a positive duration for %s, got %q", kind, text)
		}
	}
	return nil
}

func (o *Options) workers(kind string) int {
	if n, ok := o.ConcurrentReconcilesMap[kind]; ok {
		return n
	}
	return o.ConcurrentReconciles
}

func (o *Options) requeuePeriod(kind string) time.Duration {
	if d, err := time.ParseDuration(o.RequeuePeriodMap[kind]); err == nil && d > 0 {
		return d
	}
	return o.RequeuePeriod
}

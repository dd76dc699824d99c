package service

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/libs/contract"
)

// Options are the settings that all services share. See addFlags for what each flag does.
type Options struct {
	Kubeconfig               string
	ClusterName              string
	NATSURL                  string
	NATSCreds                string
	NATSNKey                 string
	NATSCA                   string
	NATSCert                 string
	NATSKey                  string
	BusBootstrap             bool
	MetricsAddr              string
	MetricsSecure            bool
	HealthAddr               string
	PprofAddr                string
	LeaderElect              bool
	LeaderElectionNamespace  string
	Election                 Election
	ConditionsLeaseNamespace string
	WatchNamespaces          []string
	WatchNamespaceSelector   string
	Workers                  int
	LogLevel                 string
	LogFormat                string

	// Command is the name of the command that runs; empty for the service itself.
	Command string

	service string // Spec.Name
}

// Disabled turns an address flag off.
const Disabled = "0"

func (o *Options) addFlags(fs *pflag.FlagSet, defaults Election) {
	fs.StringVar(&o.Kubeconfig, "kubeconfig", "", "kubeconfig file; empty means the pod's service account (also KUBECONFIG)")
	fs.StringVar(&o.ClusterName, "cluster-name", "", "name of this cluster on the bus, a DNS name; required with --nats-url")
	fs.StringVar(&o.NATSURL, "nats-url", "", "NATS servers, separated by commas; empty means no bus (also NATS_URL)")
	fs.StringVar(&o.NATSCreds, "nats-creds", "", "NATS credentials file, read again on each reconnect")
	fs.StringVar(&o.NATSNKey, "nats-nkey", "", "file with the seed of a NATS user's NKey, read again on each reconnect")
	fs.StringVar(&o.NATSCA, "nats-ca", "", "PEM file with the CAs of NATS servers, read again on each reconnect; empty means those of the system")
	fs.StringVar(&o.NATSCert, "nats-cert", "", "PEM file with the client certificate for NATS, read again on each reconnect")
	fs.StringVar(&o.NATSKey, "nats-key", "", "PEM file with the key of --nats-cert")
	fs.BoolVar(&o.BusBootstrap, "bus-bootstrap", false, "create the bus's streams and bucket instead of only verifying them")
	fs.StringVar(&o.MetricsAddr, "metrics-bind-address", ":8443", "address of the metrics endpoint; 0 disables it")
	fs.BoolVar(&o.MetricsSecure, "metrics-secure", true, "serve metrics over TLS to callers that the API server authenticates and authorizes")
	fs.StringVar(&o.HealthAddr, "health-probe-bind-address", ":8081", "address of /healthz and /readyz; 0 disables them")
	fs.StringVar(&o.PprofAddr, "pprof-bind-address", Disabled, "address of the Go profiles under /debug/pprof, without authentication: use a loopback address; 0 disables them")
	fs.BoolVar(&o.LeaderElect, "leader-elect", true, "enable leader election")
	fs.StringVar(&o.LeaderElectionNamespace, "leader-election-namespace", "", "namespace of the leader election Lease; empty means the pod's namespace")
	o.Election.addFlags(fs, defaults)
	fs.StringVar(&o.ConditionsLeaseNamespace, "conditions-lease-namespace", "flotilla-system", "namespace of the Lease flotilla-conditions")
	fs.StringSliceVar(&o.WatchNamespaces, "watch-namespaces", nil, "namespaces to watch, separated by commas; empty means all")
	fs.StringVar(&o.WatchNamespaceSelector, selectorFlag, "", "label selector of the namespaces to watch, for example flotilla.dev/shard=a; the service restarts within its process when other namespaces match; empty means those of --watch-namespaces")
	fs.IntVar(&o.Workers, "workers", 8, "maximum concurrent reconciles per kind")
	fs.StringVar(&o.LogLevel, "log-level", "info", "error, warn, info, debug or trace")
	fs.StringVar(&o.LogFormat, "log-format", "json", "json or text")
}

// Validate checks what can be checked without the API server. Each error names its flag.
func (o *Options) Validate() error {
	checks := []error{
		o.validateBus(),
		validateAddress("metrics-bind-address", o.MetricsAddr),
		validateAddress("health-probe-bind-address", o.HealthAddr),
		validateAddress("pprof-bind-address", o.PprofAddr),
		o.validateNamespaces(),
	}
	if o.Workers < 1 {
		checks = append(checks, settingError("workers", "must be at least 1, got %d", o.Workers))
	}
	if o.LeaderElect && o.LeaderElectionNamespace == "" {
		checks = append(checks, settingError("leader-election-namespace", "is required outside a pod while --leader-elect is on"))
	}
	if o.LeaderElect {
		checks = append(checks, o.Election.validate())
	}
	if o.ConditionsLeaseNamespace == "" {
		checks = append(checks, settingError("conditions-lease-namespace", "must not be empty"))
	}
	return errors.Join(checks...)
}

const selectorFlag = "watch-namespace-selector"

func (o *Options) validateNamespaces() error {
	for _, name := range o.WatchNamespaces {
		// An empty name would mean all namespaces.
		if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
			return settingError("watch-namespaces", "has %q, which is not the name of a namespace: %s", name, problems[0])
		}
	}
	if o.WatchNamespaceSelector == "" {
		return nil
	}
	if len(o.WatchNamespaces) > 0 {
		return settingError(selectorFlag, "and --watch-namespaces exclude each other, got %q and %q",
			o.WatchNamespaceSelector, strings.Join(o.WatchNamespaces, ","))
	}
	selector, err := labels.Parse(o.WatchNamespaceSelector)
	if err != nil {
		return settingError(selectorFlag, "is not a label selector such as flotilla.dev/shard=a: %w", err)
	}
	if selector.Empty() {
		return settingError(selectorFlag, "matches all namespaces: %q", o.WatchNamespaceSelector)
	}
	return nil
}

func validateAddress(flag, address string) error {
	if address == Disabled {
		return nil
	}
	if _, _, err := net.SplitHostPort(address); err != nil {
		return settingError(flag, "%q is not host:port, :port or 0", address)
	}
	return nil
}

// settingError returns an error about a setting that names its flag and its environment variable.
func settingError(flag, format string, args ...any) error {
	return fmt.Errorf("--%s (%s) %w", flag, envName(flag), fmt.Errorf(format, args...))
}

const envPrefix = "FLOTILLA_"

// envName returns FLOTILLA_NATS_URL for nats-url.
func envName(flag string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// fileFlags are the flags that name the files of the bus.
var fileFlags = map[bus.File]string{
	bus.FileCreds: "nats-creds", bus.FileNKey: "nats-nkey",
	bus.FileCA: "nats-ca", bus.FileCert: "nats-cert", bus.FileKey: "nats-key",
}

// Bus returns the configuration of a bus client called name, for a service's commands.
// The error names the flag of the invalid setting.
func (o *Options) Bus(name string, log logr.Logger) (bus.Config, error) {
	cfg := bus.Config{
		URL: o.NATSURL, Name: name, CredsFile: o.NATSCreds, NKeyFile: o.NATSNKey,
		TLS: bus.TLS{CAFile: o.NATSCA, CertFile: o.NATSCert, KeyFile: o.NATSKey},
		Log: log,
	}
	if o.NATSURL == "" {
		return cfg, settingError("nats-url", "is required")
	}
	return cfg, errors.Join(o.validateURL(), fileErrors(cfg.Check()))
}

func (o *Options) validateBus() error {
	if o.NATSURL == "" {
		return nil
	}
	_, err := o.Bus(o.service, logr.Discard())
	switch {
	case o.ClusterName == "":
		return errors.Join(err, settingError("cluster-name", "is required with --nats-url"))
	case !validToken(o.ClusterName):
		return errors.Join(err, settingError("cluster-name", "%q is not a DNS name", o.ClusterName))
	}
	return err
}

func validToken(s string) bool {
	_, err := contract.EncodeToken(s)
	return err == nil
}

func (o *Options) validateURL() error {
	for u := range strings.SplitSeq(o.NATSURL, ",") {
		if parsed, err := url.Parse(strings.TrimSpace(u)); err != nil || parsed.Host == "" {
			// The URL may hold a password, so the error omits it.
			return settingError("nats-url", "is not a URL such as nats://host:4222")
		}
	}
	return nil
}

// fileErrors names the flag of each file that cannot be used.
func fileErrors(err error) error {
	if err == nil {
		return nil
	}
	all := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		all = joined.Unwrap()
	}
	for i, item := range all {
		if file, ok := errors.AsType[*bus.FileError](item); ok {
			all[i] = settingError(fileFlags[file.File], "%w", file.Err)
		}
	}
	return errors.Join(all...)
}

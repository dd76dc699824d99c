package service

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/spf13/pflag"
)

// defaults returns the options of an empty command line.
func defaults(change func(*Options)) Options {
	o := Options{
		MetricsAddr: ":8443", MetricsSecure: true, HealthAddr: ":8081", PprofAddr: "0", LeaderElect: true,
		Election:                 DefaultElection,
		ConditionsLeaseNamespace: "flotilla-system", Workers: 8, LogLevel: "info", LogFormat: "json",
	}
	if change != nil {
		change(&o)
	}
	return o
}

func TestParse(t *testing.T) {
	tests := map[string]struct {
		args []string
		env  map[string]string
		want Options
	}{
		"no arguments give the defaults": {want: defaults(nil)},
		"flags": {
			args: []string{
				"--kubeconfig=k", "--cluster-name=c", "--nats-url=nats://n", "--nats-creds=x", "--bus-bootstrap",
				"--nats-nkey=y", "--nats-ca=ca", "--nats-cert=cert", "--nats-key=key",
				"--leader-election-lease-duration=9s", "--leader-election-renew-deadline=5s", "--leader-election-retry-period=500ms",
				"--metrics-bind-address=0", "--metrics-secure=false", "--health-probe-bind-address=:1", "--pprof-bind-address=:2", "--leader-elect=false",
				"--leader-election-namespace=l", "--conditions-lease-namespace=n", "--watch-namespaces=a,b", "--workers=2",
				"--log-level=debug", "--log-format=text",
			},
			want: Options{
				Kubeconfig: "k", ClusterName: "c", NATSURL: "nats://n", NATSCreds: "x", BusBootstrap: true,
				NATSNKey: "y", NATSCA: "ca", NATSCert: "cert", NATSKey: "key",
				Election:    Election{9 * time.Second, 5 * time.Second, 500 * time.Millisecond},
				MetricsAddr: "0", HealthAddr: ":1", PprofAddr: ":2", LeaderElectionNamespace: "l", ConditionsLeaseNamespace: "n",
				WatchNamespaces: []string{"a", "b"}, Workers: 2, LogLevel: "debug", LogFormat: "text",
			},
		},
		"every flag has its variable": {
			env: map[string]string{"FLOTILLA_CLUSTER_NAME": "c", "FLOTILLA_METRICS_SECURE": "false", "FLOTILLA_WATCH_NAMESPACES": "a,b", "FLOTILLA_WORKERS": "3"},
			want: defaults(func(o *Options) {
				o.ClusterName, o.MetricsSecure, o.WatchNamespaces, o.Workers = "c", false, []string{"a", "b"}, 3
			}),
		},
		"the names that other programs use work too": {
			env:  map[string]string{"KUBECONFIG": "k", "NATS_URL": "nats://n", "POD_NAMESPACE": "here"},
			want: defaults(func(o *Options) { o.Kubeconfig, o.NATSURL, o.LeaderElectionNamespace = "k", "nats://n", "here" }),
		},
		"our own name wins over the common one": {
			env:  map[string]string{"KUBECONFIG": "k", "FLOTILLA_KUBECONFIG": "ours"},
			want: defaults(func(o *Options) { o.Kubeconfig = "ours" }),
		},
		"a flag wins over the environment": {
			args: []string{"--nats-url=nats://flag"}, env: map[string]string{"NATS_URL": "nats://env", "FLOTILLA_NATS_URL": "nats://env2"},
			want: defaults(func(o *Options) { o.NATSURL = "nats://flag" }),
		},
		"a flag set to nothing wins too": {
			args: []string{"--nats-url="}, env: map[string]string{"NATS_URL": "nats://env"},
			want: defaults(nil),
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			inv, err := parseTest(tc.args, tc.env)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, inv.options, cmpopts.IgnoreUnexported(Options{})); diff != "" {
				t.Errorf("options (-want +got):\n%s", diff)
			}
		})
	}
}

// A configuration file fills the flags that are not set, so it must not override a variable that equals the default.
func TestParseMarksFlagsFromTheEnvironment(t *testing.T) {
	var flags *pflag.FlagSet
	spec := Spec{Name: "test-service", Flags: func(fs *pflag.FlagSet) {
		flags = fs
		fs.Int("mysql-port", 3306, "")
		fs.String("mysql-host", "", "")
	}}
	getenv := func(k string) string { return map[string]string{"FLOTILLA_MYSQL_PORT": "3306"}[k] }
	if _, err := parse(spec, nil, getenv, &bytes.Buffer{}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"mysql-port": true, "mysql-host": false} {
		if got := flags.Changed(name); got != want {
			t.Errorf("Changed(%q) is %v, want %v", name, got, want)
		}
	}
}

func TestParseRejectsInvalidArguments(t *testing.T) {
	tests := map[string]struct {
		args []string
		env  map[string]string
		err  string
	}{
		"an unknown flag":                       {args: []string{"--color"}, err: "unknown flag: --color"},
		"an unknown command":                    {args: []string{"migrte"}, err: `unknown command "migrte", see --help`},
		"an argument too many":                  {args: []string{"--workers=2", "x"}, err: `unexpected argument "x", see --help`},
		"a variable of the wrong kind":          {env: map[string]string{"FLOTILLA_WORKERS": "many"}, err: "--workers (FLOTILLA_WORKERS) is not a valid int"},
		"a flag of the wrong kind":              {args: []string{"--workers=many"}, err: `invalid argument "many" for "--workers" flag: strconv.ParseInt: parsing "many": invalid syntax`},
		"a secret in a variable is not printed": {env: map[string]string{"FLOTILLA_BUS_BOOTSTRAP": "hunter2"}, err: "--bus-bootstrap (FLOTILLA_BUS_BOOTSTRAP) is not a valid bool"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := parseTest(tc.args, tc.env); err == nil || err.Error() != tc.err {
				t.Errorf("error is %v, want %q", err, tc.err)
			}
		})
	}
}

// parseTest parses a command line of a service without own flags.
func parseTest(args []string, env map[string]string) (invocation, error) {
	getenv := func(k string) string { return env[k] }
	return parse(Spec{Name: "test-service"}, args, getenv, &bytes.Buffer{})
}

func TestValidate(t *testing.T) {
	tests := map[string]struct {
		change func(*Options)
		want   []string // parts of the error; none means valid
	}{
		"defaults with a namespace are valid": {func(o *Options) {}, nil},
		"a bus with a cluster name is valid":  {func(o *Options) { o.NATSURL, o.ClusterName = "nats://a:1,tls://b:2", "prod" }, nil},
		"no election needs no namespace":      {func(o *Options) { o.LeaderElect, o.LeaderElectionNamespace = false, "" }, nil},
		"endpoints may be off":                {func(o *Options) { o.MetricsAddr, o.HealthAddr = "0", "0" }, nil},
		"a bus needs a cluster name":          {func(o *Options) { o.NATSURL = "nats://a" }, []string{"--cluster-name (FLOTILLA_CLUSTER_NAME) is required with --nats-url"}},
		"the cluster name must fit a subject": {func(o *Options) { o.NATSURL, o.ClusterName = "nats://a", "a.*" }, []string{`--cluster-name (FLOTILLA_CLUSTER_NAME) "a.*" is not a DNS name`}},
		"the bus's address must be a URL":     {func(o *Options) { o.NATSURL, o.ClusterName = "localhost", "c" }, []string{"--nats-url (FLOTILLA_NATS_URL) is not a URL such as nats://host:4222"}},
		"its files must be readable": {func(o *Options) {
			o.NATSURL, o.ClusterName, o.NATSCreds, o.NATSCA = "nats://a", "c", "/nonexistent", "/nowhere"
			o.NATSCert, o.NATSKey = "/cert", "/key"
		}, []string{
			"--nats-creds (FLOTILLA_NATS_CREDS) open /nonexistent: no such file",
			"--nats-ca (FLOTILLA_NATS_CA) open /nowhere: no such file", "--nats-key (FLOTILLA_NATS_KEY) stat /key: no such file",
		}},
		"a certificate needs its key":                 {func(o *Options) { o.NATSURL, o.ClusterName, o.NATSCert = "nats://a", "c", "x" }, []string{"--nats-key (FLOTILLA_NATS_KEY) is needed with the certificate"}},
		"a key needs its certificate":                 {func(o *Options) { o.NATSURL, o.ClusterName, o.NATSKey = "nats://a", "c", "x" }, []string{"--nats-cert (FLOTILLA_NATS_CERT) is needed with its key"}},
		"credentials or a key":                        {func(o *Options) { o.NATSURL, o.ClusterName, o.NATSCreds, o.NATSNKey = "nats://a", "c", "x", "y" }, []string{"--nats-nkey (FLOTILLA_NATS_NKEY) cannot be used together with credentials"}},
		"an election with other terms is valid":       {func(o *Options) { o.Election = Election{7 * time.Second, 5 * time.Second, time.Second} }, nil},
		"without an election its terms do not matter": {func(o *Options) { o.LeaderElect, o.Election = false, Election{} }, nil},
		"the lease duration prevents two leaders":     {func(o *Options) { o.Election.LeaseDuration = 11 * time.Second }, []string{"--leader-election-lease-duration (FLOTILLA_LEADER_ELECTION_LEASE_DURATION) must be at least 12s, --leader-election-renew-deadline and --leader-election-retry-period together, got 11s"}},
		"a lease has whole seconds":                   {func(o *Options) { o.Election.LeaseDuration = 15500 * time.Millisecond }, []string{"--leader-election-lease-duration (FLOTILLA_LEADER_ELECTION_LEASE_DURATION) must be whole seconds"}},
		"a leader may fail once":                      {func(o *Options) { o.Election.RenewDeadline = 3 * time.Second }, []string{"--leader-election-renew-deadline (FLOTILLA_LEADER_ELECTION_RENEW_DEADLINE) must be at least 4s, twice --leader-election-retry-period, got 3s"}},
		"a leader does not renew without a pause":     {func(o *Options) { o.Election.RetryPeriod = 0 }, []string{"--leader-election-retry-period (FLOTILLA_LEADER_ELECTION_RETRY_PERIOD) must be positive, got 0s"}},
		"addresses have a port":                       {func(o *Options) { o.MetricsAddr = "localhost" }, []string{`--metrics-bind-address (FLOTILLA_METRICS_BIND_ADDRESS) "localhost" is not host:port, :port or 0`}},
		"a selector is valid":                         {func(o *Options) { o.WatchNamespaceSelector = "flotilla.dev/shard in (a, b),!legacy" }, nil},
		"an empty namespace, which would mean all":    {func(o *Options) { o.WatchNamespaces = []string{"a", ""} }, []string{`--watch-namespaces (FLOTILLA_WATCH_NAMESPACES) has "", which is not the name of a namespace: `}},
		"a namespace with a blank":                    {func(o *Options) { o.WatchNamespaces = []string{"a", " b"} }, []string{`--watch-namespaces (FLOTILLA_WATCH_NAMESPACES) has " b", which is not the name of a namespace: `}},
		"namespaces or a selector":                    {func(o *Options) { o.WatchNamespaces, o.WatchNamespaceSelector = []string{"x", "y"}, "a=b" }, []string{`--watch-namespace-selector (FLOTILLA_WATCH_NAMESPACE_SELECTOR) and --watch-namespaces exclude each other, got "a=b" and "x,y"`}},
		"a selector must be one":                      {func(o *Options) { o.WatchNamespaceSelector = "a=b=c" }, []string{"--watch-namespace-selector (FLOTILLA_WATCH_NAMESPACE_SELECTOR) is not a label selector such as flotilla.dev/shard=a"}},
		"a selector must not match everything":        {func(o *Options) { o.WatchNamespaceSelector = " " }, []string{"--watch-namespace-selector (FLOTILLA_WATCH_NAMESPACE_SELECTOR) matches all namespaces"}},
		"at least one worker":                         {func(o *Options) { o.Workers = 0 }, []string{"--workers (FLOTILLA_WORKERS) must be at least 1, got 0"}},
		"an election needs a namespace":               {func(o *Options) { o.LeaderElectionNamespace = "" }, []string{"--leader-election-namespace (FLOTILLA_LEADER_ELECTION_NAMESPACE) is required"}},
		"the conditions lease has a namespace":        {func(o *Options) { o.ConditionsLeaseNamespace = "" }, []string{"--conditions-lease-namespace"}},
		"all errors are reported":                     {func(o *Options) { o.Workers, o.HealthAddr, o.PprofAddr = 0, "x", "y" }, []string{"--workers", "--health-probe-bind-address", "--pprof-bind-address"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			o := defaults(func(o *Options) { o.LeaderElectionNamespace = "ns" })
			tc.change(&o)
			err := o.Validate()
			if len(tc.want) == 0 && err != nil {
				t.Errorf("got %v, want no error", err)
			}
			for _, part := range tc.want {
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Errorf("got %v, want %q in it", err, part)
				}
			}
		})
	}
}

func TestHelpAndVersionTexts(t *testing.T) {
	spec := Spec{
		Name:  "test-service",
		Flags: func(fs *pflag.FlagSet) { fs.String("mysql-dsn", "", "database") },
		Commands: map[string]Command{
			"migrate": {Help: "Bring the database up to date"},
			"purge":   {Help: "Remove old rows", Flags: func(fs *pflag.FlagSet) { fs.Bool("dry-run", false, "count only") }},
		},
	}
	tests := map[string]struct {
		args []string
		want []string
	}{
		"help":              {[]string{"--help"}, []string{"Usage: test-service [COMMAND] [FLAG...]", "migrate", "--nats-url", "--mysql-dsn", "--version"}},
		"help of a command": {[]string{"migrate", "-h"}, []string{"Usage: test-service"}},
		"help of a command with flags": {[]string{"purge", "-h"}, []string{
			"Usage: test-service purge [FLAG...]", "Remove old rows", "--dry-run", "count only", "--mysql-dsn",
		}},
		"version": {[]string{"--version"}, []string{"test-service ", "go1."}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if _, err := parse(spec, tc.args, func(string) string { return "" }, &out); !errors.Is(err, errDone) {
				t.Errorf("error is %v, want %v", err, errDone)
			}
			for _, part := range tc.want {
				if !strings.Contains(out.String(), part) {
					t.Errorf("%q is missing in:\n%s", part, out.String())
				}
			}
		})
	}
}

func TestServiceFlagsHaveVariables(t *testing.T) {
	var dsn string
	spec := Spec{
		Name: "test-service", Env: map[string]string{"mysql-dsn": "MYSQL_DSN"},
		Flags: func(fs *pflag.FlagSet) { fs.StringVar(&dsn, "mysql-dsn", "", "database") },
	}
	for _, name := range []string{"MYSQL_DSN", "FLOTILLA_MYSQL_DSN"} {
		dsn = ""
		getenv := func(k string) string { return map[string]string{name: "dsn"}[k] }
		if _, err := parse(spec, nil, getenv, &bytes.Buffer{}); err != nil || dsn != "dsn" {
			t.Errorf("%s gives %q and %v", name, dsn, err)
		}
	}
}

func TestCommandReceivesArguments(t *testing.T) {
	spec := Spec{Name: "test-service", Commands: map[string]Command{"query": {}}}
	inv, err := parse(spec, []string{"query", "--workers=2", "a", "b"}, func(string) string { return "" }, &bytes.Buffer{})
	if err != nil || inv.command != "query" || inv.options.Command != "query" || !cmp.Equal(inv.args, []string{"a", "b"}) || inv.options.Workers != 2 {
		t.Errorf("got %+v and %v", inv, err)
	}
}

func TestCommandHasOwnFlags(t *testing.T) {
	var dry bool
	spec := Spec{Name: "test-service", Commands: map[string]Command{
		"purge": {Flags: func(fs *pflag.FlagSet) { fs.BoolVar(&dry, "dry-run", false, "count only") }}, "query": {},
	}}
	none := func(string) string { return "" }
	inv, err := parse(spec, []string{"purge", "--dry-run", "--workers=2", "model"}, none, &bytes.Buffer{})
	if err != nil || !dry || inv.options.Workers != 2 || !cmp.Equal(inv.args, []string{"model"}) {
		t.Errorf("got %+v, dry-run %v and %v", inv, dry, err)
	}
	for _, args := range [][]string{{"--dry-run"}, {"query", "--dry-run"}} {
		if _, err := parse(spec, args, none, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "dry-run") {
			t.Errorf("%v: got %v, want an error that names the flag", args, err)
		}
	}
}

func TestReportIsOneLine(t *testing.T) {
	var out bytes.Buffer
	report(&out, "test-service", errors.Join(errors.New("first"), errors.New("second\nthird")))
	if got := out.String(); got != "test-service: first; second; third\n" {
		t.Errorf("got %q", got)
	}
}

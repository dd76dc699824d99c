package app

import (
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"

	"github.com/flotilla-dev/flotilla/libs/kube/service"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/command"
)

const dsn = "--mysql-dsn=user:secret@tcp(db:3306)/michelangelo"

var parts = []string{"--mysql-host=db", "--mysql-user=user", "--mysql-database=michelangelo", "--mysql-password=secret"}

func parse(t *testing.T, args ...string) *Options {
	t.Helper()
	o := &Options{}
	fs := pflag.NewFlagSet("ingester", pflag.ContinueOnError)
	o.addFlags(fs)
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	return o
}

func TestValidate(t *testing.T) {
	tests := map[string]struct {
		args []string
		want string // in the error; empty means valid
	}{
		"nothing at all":              {nil, ""},
		"a DSN is enough":             {[]string{dsn}, ""},
		"so are its parts":            {parts, ""},
		"a DSN without a database":    {[]string{"--mysql-dsn=user:secret@tcp(db:3306)/"}, "--mysql-dsn (FLOTILLA_MYSQL_DSN or MYSQL_DSN) must name a database"},
		"a DSN and a part":            {[]string{dsn, "--mysql-host=db"}, "--mysql-dsn and --mysql-host, --mysql-user"},
		"a DSN without verification":  {[]string{dsn + "?tls=skip-verify"}, "tls=skip-verify"},
		"a DSN that may not encrypt":  {[]string{dsn + "?tls=preferred"}, "tls=preferred"},
		"a DSN that may fall back":    {[]string{dsn + "?tls=true&allowFallbackToPlaintext=true"}, "--mysql-dsn must not have allowFallbackToPlaintext=true with TLS"},
		"a fallback and a TLS flag":   {[]string{dsn + "?allowFallbackToPlaintext=true", "--mysql-tls"}, "--mysql-dsn must not have allowFallbackToPlaintext=true with TLS"},
		"a fallback without TLS":      {[]string{dsn + "?allowFallbackToPlaintext=true"}, ""},
		"no user":                     {[]string{"--mysql-host=db", "--mysql-database=m"}, "--mysql-user is required"},
		"no database":                 {parts[:2], "--mysql-database is required"},
		"a port that is none":         {append([]string{"--mysql-port=70000"}, parts...), "--mysql-port must be 1 to 65535"},
		"two passwords":               {append([]string{"--mysql-password-file=/nowhere"}, parts...), "mutually exclusive"},
		"a password file that is not": {append([]string{"--mysql-password-file=/nowhere"}, parts[:3]...), "--mysql-password-file"},
		"authorities that are not":    {append([]string{"--mysql-tls-ca-file=/nowhere"}, parts...), "--mysql-tls-ca-file"},
		"authorities that are text":   {append([]string{"--mysql-tls-ca-file=options_test.go"}, parts...), "contains no certificate"},
		"half a certificate":          {append([]string{"--mysql-tls-cert-file=/nowhere"}, parts...), "must be set together"},
		"too few connections":         {[]string{dsn, "--mysql-max-open-conns=4"}, "--mysql-max-open-conns (mysql.maxOpenConns) must be 0 or at least 5, got 4"},
		"one connection":              {[]string{dsn, "--mysql-max-open-conns=1"}, "transactions hold 4 connections while a statement is prepared on another"},
		"enough connections":          {[]string{dsn, "--mysql-max-open-conns=5"}, ""},
		"default connections":         {[]string{dsn, "--mysql-max-open-conns=0"}, ""},
		"no worker":                   {[]string{dsn, "--concurrent-reconciles=0"}, "--concurrent-reconciles must be at least 1"},
		"an unknown kind":             {[]string{dsn, "--concurrent-reconciles-map=Modell=3"}, `--concurrent-reconciles-map: unknown kind "Modell"`},
		"a period that is none":       {[]string{dsn, "--requeue-period-map=Model=soon"}, `must be a positive duration for Model, got "soon"`},
		"a file that is not there":    {[]string{"--config=/nowhere.yaml"}, "--config: /nowhere.yaml: no such file"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			err := parse(t, tc.args...).Validate(service.Options{})
			switch {
			case tc.want == "" && err != nil:
				t.Errorf("error %v, want none", err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("error %v, want one with %q", err, tc.want)
			case err != nil && strings.Contains(err.Error(), "secret"):
				t.Errorf("error %v shows the password", err)
			}
		})
	}
}

// TestRemoveFinalizersRequiresNoMySQL has the command line of an uninstall after the Secrets of MySQL were deleted.
func TestRemoveFinalizersRequiresNoMySQL(t *testing.T) {
	o := parse(t, append([]string{"--mysql-password-file=/nowhere", "--mysql-tls-ca-file=/nowhere"}, parts[:3]...)...)
	if err := o.Validate(service.Options{Command: "remove-finalizers"}); err != nil {
		t.Error(err)
	}
	if err := o.Validate(service.Options{Command: "restore"}); err == nil {
		t.Error("got no error for restore")
	}
	config := command.Config{MySQL: o.MySQL, Log: logr.Discard()}
	if _, err := command.Open(t.Context(), config); err == nil {
		t.Error("got no error of a command that requires MySQL")
	}
	config.Optional = true
	if env, err := command.Open(t.Context(), config); err != nil || env.DB != nil {
		t.Errorf("got %v, %v, want no database and no error", env.DB, err)
	}
}

func TestSelectorOfNamespacesIsRejected(t *testing.T) {
	err := parse(t, dsn).Validate(service.Options{WatchNamespaceSelector: "shard=a"})
	if want := "--watch-namespace-selector is not supported by the ingester: set --watch-namespaces"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %q", err, want)
	}
}

func TestSettingsByKind(t *testing.T) {
	o := parse(t, dsn, "--concurrent-reconciles-map=Model=3", "--requeue-period-map=Project=5s")
	if o.workers("Model") != 3 || o.workers("Project") != defaultWorkers {
		t.Errorf("workers %d and %d", o.workers("Model"), o.workers("Project"))
	}
	if o.requeuePeriod("Project") != 5*time.Second || o.requeuePeriod("Model") != defaultRequeuePeriod {
		t.Errorf("periods %s and %s", o.requeuePeriod("Project"), o.requeuePeriod("Model"))
	}
}

package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-dev/flotilla/libs/kube/service"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/database"
)

func file(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "base.yaml")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestConfigFileOfEarlierControllerIsAccepted reads the stanzas of reference section 4.3.
func TestConfigFileOfEarlierControllerIsAccepted(t *testing.T) {
	t.Setenv("TEST_MYSQL_HOST", "db.example.org")
	o := parse(t, "--mysql-user=flag", "--config="+file(t, `
controllermgr: {metricsBindAddress: ":8091"}
metadataStorage: {enableMetadataStorage: true, deletionDelay: 10s, enableResourceVersionCache: false}
mysql:
  host: ${TEST_MYSQL_HOST:localhost}
  port: ${TEST_MYSQL_PORT:3307}
  user: file
  password: "s3cret"
  database: michelangelo
  maxOpenConns: 40
  connMaxLifetime: 10m
ingester:
  concurrentReconciles: 2
  requeuePeriod: 15s
  concurrentReconcilesMap: {PipelineRun: 10, Model: 3}
  requeuePeriodMap: {Model: 5s}
`))
	if err := o.Validate(service.Options{}); err != nil {
		t.Fatal(err)
	}
	want := database.Settings{
		Host: "db.example.org", Port: 3307, User: "flag", Password: "s3cret", Database: "michelangelo",
		Pool: database.Pool{MaxOpen: 40, MaxLifetime: 10 * time.Minute},
	}
	if diff := cmp.Diff(want, o.MySQL); diff != "" {
		t.Errorf("MySQL (-want +got):\n%s", diff)
	}
	if !o.On() || o.workers("Project") != 2 || o.workers("PipelineRun") != 10 || o.requeuePeriod("Model") != 5*time.Second || o.requeuePeriod("Project") != 15*time.Second {
		t.Errorf("on %v, workers %d and %d, periods %s and %s", o.On(), o.workers("Project"), o.workers("PipelineRun"), o.requeuePeriod("Model"), o.requeuePeriod("Project"))
	}
}

// TestConfigFileYieldsToDefaultsThatAreSet sets the default values explicitly; package service marks the flags that the
// environment sets like those of the command line.
func TestConfigFileYieldsToDefaultsThatAreSet(t *testing.T) {
	o := parse(t, "--mysql-port=3306", "--config="+file(t, "mysql: {host: db, user: u, database: d, port: 3307, tls: true}"))
	tls := o.flags.Lookup("mysql-tls")
	if err := tls.Value.Set(tls.DefValue); err != nil {
		t.Fatal(err)
	}
	tls.Changed = true
	if err := o.Validate(service.Options{}); err != nil {
		t.Fatal(err)
	}
	if o.MySQL.Port != 3306 || o.MySQL.TLS {
		t.Errorf("port %d, TLS %t, want the defaults", o.MySQL.Port, o.MySQL.TLS)
	}
}

func TestIngesterIsDisabledBySettings(t *testing.T) {
	tests := map[string]struct {
		args    []string
		enabled bool
	}{
		"nothing":            {nil, false},
		"settings":           {[]string{dsn}, true},
		"switched off":       {[]string{dsn, "--enable-metadata-storage=false"}, false},
		"switched off there": {[]string{dsn, "--config=" + file(t, "metadataStorage: {enableMetadataStorage: false}")}, false},
		"an empty stanza":    {[]string{"--config=" + file(t, "metadataStorage: {enableMetadataStorage: true}\nmysql:")}, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			o := parse(t, tc.args...)
			if err := o.Validate(service.Options{}); err != nil {
				t.Fatal(err)
			}
			if o.On() != tc.enabled {
				t.Errorf("on is %v", o.On())
			}
		})
	}
}

func TestConfigFileErrors(t *testing.T) {
	tests := map[string]struct{ content, want string }{
		"an unknown key":      {"mysql: {hots: db}", "unknown key mysql.hots, want one of connMaxLifetime"},
		"no map":              {"mysql: db", "mysql is not a map"},
		"no YAML":             {"mysql: [", "parse YAML"},
		"no number":           {"mysql: {port: s3cret}", "mysql.port has an invalid value"},
		"an unknown kind":     {"ingester: {requeuePeriodMap: {Modell: 5s}}", "Modell"},
		"too few connections": {"mysql: {host: db, user: u, database: m, maxOpenConns: 4}", "(mysql.maxOpenConns) must be 0 or at least 5, got 4"},
		"a wrong duration":    {"ingester: {requeuePeriod: soon}", "ingester.requeuePeriod has an invalid value"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			err := parse(t, "--config="+file(t, tc.content)).Validate(service.Options{})
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want one with %q", err, tc.want)
			}
			if err != nil && strings.Contains(err.Error(), "s3cret") {
				t.Errorf("error %v shows a value", err)
			}
		})
	}
}

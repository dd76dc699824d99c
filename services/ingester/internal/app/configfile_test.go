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

// TestConfigFileValuesAreText has values that YAML would read as another type, each in the file and from the environment.
func TestConfigFileValuesAreText(t *testing.T) {
	for value, want := range map[string]string{
		"20240115": "20240115", "0123": "0123", "1e3": "1e3", "1_000": "1_000", "0x1F": "0x1F", "1.10": "1.10", ".inf": ".inf",
		"12345678901234567890": "12345678901234567890", "2024-01-15": "2024-01-15", "1:30": "1:30",
		"true": "true", "on": "on", "No": "No", "nil": "nil", "=": "=", "<<": "<<", "s3cret": "s3cret", "!!int 7": "7",
		"'007'": "007", `"null"`: "null", `"on"`: "on", "null": "", "~": "", "''": "",
	} {
		t.Run(value, func(t *testing.T) {
			t.Setenv("TEST_PASSWORD", value)
			for _, written := range []string{value, "${TEST_PASSWORD}", "${TEST_NONE:" + value + "}", "&a " + value + "\n  database: *a"} {
				o := parse(t, "--config="+file(t, "mysql:\n  host: db\n  user: u\n  password: "+written))
				if err := o.load(o.ConfigFile); err != nil {
					t.Fatalf("%s: %v", written, err)
				}
				if o.MySQL.Password != want || strings.Contains(written, "*a") && o.MySQL.Database != want {
					t.Errorf("%s: got password %q, database %q, want %q", written, o.MySQL.Password, o.MySQL.Database, want)
				}
			}
		})
	}
}

func TestConfigFileNumbersAndSwitches(t *testing.T) {
	for content, check := range map[string]func(*Options) bool{
		"concurrentReconciles: 1000000":             func(o *Options) bool { return o.workers("Model") == 1000000 },
		"concurrentReconcilesMap: {Model: 1000000}": func(o *Options) bool { return o.workers("Model") == 1000000 },
		"concurrentReconciles: null":                func(o *Options) bool { return o.workers("Model") == parse(t).workers("Model") },
		"evictImmutableKinds: on":                   func(o *Options) bool { return o.EvictImmutableKinds },
		"evictImmutableKinds: Yes":                  func(o *Options) bool { return o.EvictImmutableKinds },
		"evictImmutableKinds: !!bool true":          func(o *Options) bool { return o.EvictImmutableKinds },
		"evictImmutableKinds: 1":                    func(o *Options) bool { return o.EvictImmutableKinds },
		"evictImmutableKinds: off":                  func(o *Options) bool { return !o.EvictImmutableKinds },
		"<<: {evictImmutableKinds: true}":           func(o *Options) bool { return o.EvictImmutableKinds },
	} {
		o := parse(t, dsn, "--config="+file(t, "ingester:\n  "+content))
		if err := o.Validate(service.Options{}); err != nil || !check(o) {
			t.Errorf("%s: error %v, options %+v", content, err, o)
		}
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
		"no map":              {"mysql: s3cret", "mysql must be a map"},
		"a list":              {"mysql: {password: [s3cret]}", "mysql.password has an invalid value"},
		"a map with a list":   {"mysql: {password: {s3cret: [s3cret]}}", "mysql.password has an invalid value"},
		"a map of itself":     {"mysql: {password: &a {s3cret: *a}}", "mysql.password has an invalid value"},
		"a duplicate key":     {"mysql: {password: s3cret, password: other}", "mysql must be a map without duplicate keys"},
		"a duplicate stanza":  {"mysql: {password: s3cret}\nmysql: {host: db}", `mapping key "mysql" already defined`},
		"no switch":           {"ingester: {evictImmutableKinds: s3cret}", "ingester.evictImmutableKinds has an invalid value"},
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

package httpapi

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

func parseOptions(t *testing.T, args ...string) *Options {
	t.Helper()
	o := &Options{}
	fs := pflag.NewFlagSet("status-aggregator", pflag.ContinueOnError)
	o.AddFlags(fs)
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	return o
}

func TestOptions(t *testing.T) {
	full := t.TempDir()
	for _, name := range []string{certFile, keyFile} {
		if err := os.WriteFile(filepath.Join(full, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	everywhere := "--api-bind-address=:8446"
	tests := map[string]struct {
		args    []string
		enabled bool
		want    string // in the error; empty means valid
	}{
		"off by default":                {nil, false, ""},
		"off, whatever else is set":     {[]string{"--api-max-requests=0"}, false, ""},
		"loopback needs no certificate": {[]string{"--api-bind-address=127.0.0.1:8446"}, true, ""},
		"nor does IPv6":                 {[]string{"--api-bind-address=[::1]:8446"}, true, ""},
		"nor does the name":             {[]string{"--api-bind-address=localhost:8446"}, true, ""},
		"all addresses do":              {[]string{everywhere}, true, "--api-cert-dir is required"},
		"another address does":          {[]string{"--api-bind-address=10.0.0.1:8446"}, true, "--api-cert-dir is required"},
		"with certificates":             {[]string{everywhere, "--api-cert-dir=" + full}, true, ""},
		"a folder without them":         {[]string{everywhere, "--api-cert-dir=" + t.TempDir()}, true, "--api-cert-dir: stat"},
		"no address":                    {[]string{"--api-bind-address=8446"}, true, `--api-bind-address "8446" is not host:port, :port or 0`},
		"no requests":                   {[]string{"--api-bind-address=localhost:1", "--api-max-requests=0"}, true, "--api-max-requests must be at least 1, is 0"},
		"no streams":                    {[]string{"--api-bind-address=localhost:1", "--api-max-streams=0"}, true, "--api-max-streams must be at least 1, is 0"},
		"no time":                       {[]string{"--api-bind-address=localhost:1", "--api-request-timeout=0s"}, true, "--api-request-timeout must be positive"},
		"an empty audience":             {[]string{"--api-bind-address=localhost:1", "--api-token-audiences=a,,b"}, true, "--api-token-audiences holds an empty name"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			o := parseOptions(t, tc.args...)
			err := o.Validate()
			switch {
			case o.Enabled() != tc.enabled:
				t.Errorf("enabled is %v", o.Enabled())
			case tc.want == "" && err != nil:
				t.Errorf("error %v, want none", err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("error %v, want one with %q", err, tc.want)
			}
		})
	}
}

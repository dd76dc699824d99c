package httpserver_test

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/flotilla-dev/flotilla/libs/kube/httpserver"
	"github.com/flotilla-dev/flotilla/libs/testkit/certdir"
)

var flagText = httpserver.FlagText{Served: "the HTTP API", WithoutCertificate: "the API is plain HTTP", Request: "one request"}

func TestOptions(t *testing.T) {
	certDir := t.TempDir()
	certdir.Write(t, certDir)
	allAddresses := "--api-bind-address=:8444"
	tests := map[string]struct {
		args    []string
		enabled bool
		want    string // in the error; empty means valid
	}{
		"off by default":                      {nil, false, ""},
		"off, whatever else is set":           {[]string{"--api-max-requests=0"}, false, ""},
		"loopback needs no certificate":       {[]string{"--api-bind-address=127.0.0.1:8444"}, true, ""},
		"IPv6 loopback needs no certificate":  {[]string{"--api-bind-address=[::1]:8444"}, true, ""},
		"localhost needs no certificate":      {[]string{"--api-bind-address=localhost:8444"}, true, ""},
		"all addresses need a certificate":    {[]string{allAddresses}, true, "--api-cert-dir is required"},
		"another address needs a certificate": {[]string{"--api-bind-address=10.0.0.1:8444"}, true, "--api-cert-dir is required"},
		"with certificates":                   {[]string{allAddresses, "--api-cert-dir=" + certDir}, true, ""},
		"a directory without certificates":    {[]string{allAddresses, "--api-cert-dir=" + t.TempDir()}, true, "--api-cert-dir: stat"},
		"no address":                          {[]string{"--api-bind-address=8444"}, true, `--api-bind-address "8444" is not host:port, :port or 0`},
		"no requests":                         {[]string{"--api-bind-address=localhost:1", "--api-max-requests=0"}, true, "--api-max-requests must be at least 1, got 0"},
		"fewer than no requests of a user":    {[]string{"--api-bind-address=localhost:1", "--api-max-requests-per-user=-1"}, true, "--api-max-requests-per-user must not be negative, got -1"},
		"no time":                             {[]string{"--api-bind-address=localhost:1", "--api-request-timeout=0s"}, true, "--api-request-timeout must be positive"},
		"an empty audience":                   {[]string{"--api-bind-address=localhost:1", "--api-token-audiences=a,,b"}, true, "--api-token-audiences holds an empty name"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			o, fs := &httpserver.Options{}, pflag.NewFlagSet("service", pflag.ContinueOnError)
			o.AddFlags(fs, flagText)
			if err := fs.Parse(tc.args); err != nil {
				t.Fatal(err)
			}
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

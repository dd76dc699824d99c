package httpapi

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

func TestOptions(t *testing.T) {
	tests := map[string]struct {
		args []string
		want string // in the error; empty means valid
	}{
		"off, whatever else is set":     {[]string{"--api-max-streams=0"}, ""},
		"loopback":                      {[]string{"--api-bind-address=localhost:1"}, ""},
		"less than no stream of a user": {[]string{"--api-bind-address=localhost:1", "--api-max-streams-per-user=-1"}, "--api-max-streams-per-user must not be negative, is -1"},
		"no streams":                    {[]string{"--api-bind-address=localhost:1", "--api-max-streams=0"}, "--api-max-streams must be at least 1, got 0"},
		"no requests":                   {[]string{"--api-bind-address=localhost:1", "--api-max-requests=0"}, "--api-max-requests must be at least 1, got 0"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			o, fs := &Options{}, pflag.NewFlagSet("status-aggregator", pflag.ContinueOnError)
			o.AddFlags(fs)
			if err := fs.Parse(tc.args); err != nil {
				t.Fatal(err)
			}
			err := o.Validate()
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

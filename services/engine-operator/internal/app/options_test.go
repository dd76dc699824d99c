package app

import (
	"testing"

	"github.com/spf13/pflag"
)

func TestOptionsAcceptFlags(t *testing.T) {
	cases := map[string]struct {
		args  []string
		fails bool
	}{
		"the defaults":                   {},
		"webhooks disabled":              {args: []string{"--enable-webhooks=false"}},
		"unlimited rollouts":             {args: []string{"--max-concurrent-rollouts=0"}},
		"a negative number of rollouts":  {args: []string{"--max-concurrent-rollouts=-1"}, fails: true},
		"a bound that is not a quantity": {args: []string{"--engine-max-memory=much"}, fails: true},
		"a bound on the engine's nodes":  {args: []string{"--engine-max-memory=8Gi"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o, flags := Options{}, pflag.NewFlagSet(name, pflag.ContinueOnError)
			o.addFlags(flags)
			err := flags.Parse(tc.args)
			if err == nil {
				err = o.validate()
			}
			if (err != nil) != tc.fails {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

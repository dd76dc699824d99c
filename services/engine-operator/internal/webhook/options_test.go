package webhook

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/validation"
)

func parse(t *testing.T, args ...string) *Options {
	t.Helper()
	o := &Options{}
	f := pflag.NewFlagSet("engine-operator", pflag.ContinueOnError)
	o.AddFlags(f)
	if err := f.Parse(args); err != nil {
		t.Fatal(err)
	}
	return o
}

func TestOptionsDefaultsEnableWebhooksWithoutBounds(t *testing.T) {
	o := parse(t)
	if err := o.Validate(); err != nil {
		t.Error(err)
	}
	if !o.Enabled() {
		t.Error("no webhooks by default")
	}
	if diff := cmp.Diff(validation.Bounds{}, o.Bounds()); diff != "" {
		t.Errorf("bounds (-want +got):\n%s", diff)
	}
}

func TestOptionsErrorsNameFlags(t *testing.T) {
	dir := t.TempDir()
	cases := map[string]struct {
		args []string
		want []string // flags that the error names
	}{
		"an invalid CPU bound":                       {[]string{"--engine-max-cpu=lots"}, []string{`--engine-max-cpu "lots"`}},
		"three invalid bounds":                       {[]string{"--engine-max-cpu=a", "--engine-max-memory=b", "--engine-max-ephemeral-storage=c"}, []string{"--engine-max-cpu", "--engine-max-memory", "--engine-max-ephemeral-storage"}},
		"a negative bound":                           {[]string{"--engine-max-memory=-1Gi"}, []string{"--engine-max-memory"}},
		"a bound without webhooks":                   {[]string{"--enable-webhooks=false", "--engine-max-cpu=x"}, []string{"--engine-max-cpu"}},
		"an address without a port":                  {[]string{"--webhook-bind-address=localhost"}, []string{"--webhook-bind-address"}},
		"port 0, although callers need a fixed port": {[]string{"--webhook-bind-address=:0"}, []string{"--webhook-bind-address"}},
		"an invalid port":                            {[]string{"--webhook-bind-address=:99999"}, []string{"--webhook-bind-address"}},
		"a directory without certificates":           {[]string{"--webhook-cert-dir=" + dir}, []string{"--webhook-cert-dir", "tls.crt", "tls.key"}},
		"a Secret without a name":                    {[]string{"--webhook-cert-secret="}, []string{"--webhook-cert-secret"}},
		"an invalid Service name":                    {[]string{"--webhook-service=a.b"}, []string{"--webhook-service"}},
		"an invalid configuration name":              {[]string{"--webhook-configuration=A B"}, []string{"--webhook-configuration"}},
		"the address is ignored without webhooks":    {[]string{"--enable-webhooks=false", "--webhook-bind-address=x"}, nil},
		"bounds": {[]string{"--engine-max-cpu=500m", "--engine-max-memory=256Gi", "--engine-max-ephemeral-storage=0"}, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := parse(t, tc.args...).Validate()
			if (err != nil) != (len(tc.want) > 0) {
				t.Fatalf("error %v", err)
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error does not name %s: %v", want, err)
				}
			}
		})
	}
}

func TestBoundsMatchFlags(t *testing.T) {
	o := parse(t, "--engine-max-cpu=1500m", "--engine-max-ephemeral-storage=10Ti")
	cpu, storage := resource.MustParse("1500m"), resource.MustParse("10Ti")
	if diff := cmp.Diff(validation.Bounds{CPU: &cpu, EphemeralStorage: &storage}, o.Bounds()); diff != "" {
		t.Errorf("bounds (-want +got):\n%s", diff)
	}
}

func TestManagerOptionsSkipDisabledServer(t *testing.T) {
	dir := t.TempDir()
	for _, file := range []string{"tls.crt", "tls.key"} {
		if err := os.WriteFile(filepath.Join(dir, file), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cases := map[string]struct {
		o    *Options
		want bool
	}{
		"the zero value":       {&Options{}, false},
		"switched off":         {parse(t, "--enable-webhooks=false"), false},
		"no address":           {parse(t, "--webhook-bind-address=0"), false},
		"own certificates":     {parse(t), true},
		"mounted certificates": {parse(t, "--webhook-cert-dir="+dir), true},
	}
	for name, tc := range cases {
		var m ctrl.Options
		if tc.o.ManagerOptions(&m); (m.WebhookServer != nil) != tc.want {
			t.Errorf("%s: server %v", name, m.WebhookServer)
		}
		if err := tc.o.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

package webhook

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/flotilla-dev/flotilla/libs/kube/certs"

	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/validation"
)

// Options are the settings of admission. The zero value serves no webhooks and bounds
// nothing. See [Options.AddFlags] for what each field does.
type Options struct {
	certs.Options

	MaxCPU, MaxMemory, MaxEphemeralStorage string
}

// Server is where and with which certificates webhooks are served unless flags say otherwise.
func Server() certs.Options {
	return certs.Options{
		Enable: true, BindAddress: certs.DefaultAddress, CertSecret: "engine-operator-webhook-cert",
		Service: "engine-operator-webhook", Configuration: "flotilla-engine-operator",
	}
}

// AddFlags adds the flags with their defaults.
func (o *Options) AddFlags(f *pflag.FlagSet) {
	o.Options = Server()
	o.Options.AddFlags(f)
	f.StringVar(&o.MaxCPU, maxCPU, "", "maximum CPU request or limit of the engine container; empty means unlimited")
	f.StringVar(&o.MaxMemory, maxMemory, "", "maximum memory request or limit of the engine container; empty means unlimited")
	f.StringVar(&o.MaxEphemeralStorage, maxEphemeralStorage, "", "most ephemeral-storage that an engine container may request or be limited to; empty means no bound")
}

const (
	maxCPU              = "engine-max-cpu"
	maxMemory           = "engine-max-memory"
	maxEphemeralStorage = "engine-max-ephemeral-storage"
)

// Validate checks the flags. Each error names its flag.
func (o *Options) Validate() error {
	_, err := o.bounds()
	return errors.Join(err, o.Options.Validate())
}

// Bounds are the maxima for engine containers (seed 001, "Admission resource bounds").
// They hold in the controllers too, with and without webhooks. Call it after Validate.
func (o *Options) Bounds() validation.Bounds {
	b, err := o.bounds()
	if err != nil {
		return validation.Bounds{} // Validate has rejected it
	}
	return b
}

func (o *Options) bounds() (b validation.Bounds, err error) {
	for _, one := range []struct {
		flag, value string
		into        **resource.Quantity
	}{
		{maxCPU, o.MaxCPU, &b.CPU},
		{maxMemory, o.MaxMemory, &b.Memory},
		{maxEphemeralStorage, o.MaxEphemeralStorage, &b.EphemeralStorage},
	} {
		if one.value == "" {
			continue
		}
		quantity, parseErr := resource.ParseQuantity(one.value)
		if parseErr != nil || quantity.Sign() < 0 {
			err = errors.Join(err, fmt.Errorf("--%s %q is not a quantity such as 32, 500m or 256Gi", one.flag, one.value))
			continue
		}
		*one.into = &quantity
	}
	return b, err
}

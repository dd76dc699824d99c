package webhook

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/flotilla-dev/flotilla/libs/kube/certs"

	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/validation"
)

// Options are the settings of admission. The zero value serves no webhooks and sets no
// bounds. [Options.AddFlags] describes each field.
type Options struct {
	certs.Options

	MaxCPU, MaxMemory, MaxEphemeralStorage string
}

// Server returns the default address and certificates of the webhook server.
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
	f.StringVar(&o.MaxEphemeralStorage, maxEphemeralStorage, "", "maximum ephemeral-storage request or limit of the engine container; empty means unlimited")
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

// Bounds returns the maximum resources of engine containers (specification 001, "Admission resource bounds").
// The controllers apply them too, with and without webhooks. Call it after Validate.
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

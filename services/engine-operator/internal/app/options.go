package app

import (
	"errors"

	"github.com/spf13/pflag"

	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/render"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/webhook"
)

// Options are the flags of the service.
type Options struct {
	// Images are the default images of containers.
	Images render.Images
	// MaxRollouts is the maximum number of concurrent rollouts without a change of the engine's own
	// spec; zero means unlimited.
	MaxRollouts int
	// Admission configures the webhooks and the resource bounds, which apply without webhooks too.
	Admission webhook.Options
}

// defaultMaxRollouts limits how many engines an edit of a class doubles at the same time.
const defaultMaxRollouts = 10

func (o *Options) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.Images.Engine, "engine-image", "ghcr.io/firebolt-db/engine:latest", "default image of engines")
	f.StringVar(&o.Images.Web, "ui-image", "ghcr.io/firebolt-db/firebolt-core-ui:latest", "image of the web interface of engines")
	f.StringVar(&o.Images.Metadata, "metadata-image", "ghcr.io/firebolt-db/metadata:latest", "default image of metadata services")
	f.StringVar(&o.Images.Postgres, "postgres-image", "postgres:16-alpine", "image of the operator's own databases; adopted ones keep theirs")
	f.StringVar(&o.Images.Gateway, "gateway-image", "envoyproxy/envoy:v1.40.0", "default image of gateways")
	o.Admission.AddFlags(f)
	f.IntVar(&o.MaxRollouts, "max-concurrent-rollouts", defaultMaxRollouts,
		"maximum concurrent rollouts from class edits or upgrades; 0 means unlimited")
}

func (o *Options) validate() error {
	err := o.Admission.Validate()
	if o.MaxRollouts < 0 {
		err = errors.Join(err, errors.New("--max-concurrent-rollouts must not be negative"))
	}
	return err
}

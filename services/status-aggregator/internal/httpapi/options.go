package httpapi

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/flotilla-dev/flotilla/libs/kube/httpserver"
)

// Options are the settings of the API. The zero value serves none.
type Options struct {
	httpserver.Options
	// MaxStreams is how many streams of events run at the same time.
	MaxStreams int
	// MaxStreamsPerUser is how many of them one user has; zero means no bound.
	MaxStreamsPerUser int
}

const (
	defaultMaxStreams        = 200
	defaultMaxStreamsPerUser = 20
)

// AddFlags adds the flags. They have no values before.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	o.Options.AddFlags(fs, httpserver.Wording{
		Served: "the HTTP API and the status page", WithoutCertificate: "the API is plain HTTP", Request: "one non-streaming request to the HTTP API",
	})
	fs.IntVar(&o.MaxStreams, "api-max-streams", defaultMaxStreams, "streams of events that the HTTP API serves at the same time; more get 429")
	fs.IntVar(&o.MaxStreamsPerUser, "api-max-streams-per-user", defaultMaxStreamsPerUser, "streams of one user among them; more get 429; 0 means no bound")
}

// Validate checks the settings when the API is served. Each error names its flag.
func (o *Options) Validate() error {
	err := o.Options.Validate()
	if o.Enabled() && o.MaxStreams < 1 {
		err = errors.Join(err, fmt.Errorf("--api-max-streams must be at least 1, got %d", o.MaxStreams))
	}
	if o.Enabled() && o.MaxStreamsPerUser < 0 {
		err = errors.Join(err, fmt.Errorf("--api-max-streams-per-user must not be negative, is %d", o.MaxStreamsPerUser))
	}
	return err
}

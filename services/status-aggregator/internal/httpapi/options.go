package httpapi

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/flotilla-dev/flotilla/libs/kube/httpserver"
)

// Options are the settings of the API. The zero value disables it.
type Options struct {
	httpserver.Options
	// MaxStreams is the maximum number of concurrent event streams.
	MaxStreams int
	// MaxStreamsPerUser is the maximum per user; zero means unlimited.
	MaxStreamsPerUser int
}

const (
	defaultMaxStreams        = 200
	defaultMaxStreamsPerUser = 20
)

// AddFlags adds the flags and sets the defaults.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	o.Options.AddFlags(fs, httpserver.FlagText{
		Served: "the HTTP API and the status page", WithoutCertificate: "the API is plain HTTP", Request: "one non-streaming request to the HTTP API",
	})
	fs.IntVar(&o.MaxStreams, "api-max-streams", defaultMaxStreams, "maximum number of concurrent event streams; more get 429")
	fs.IntVar(&o.MaxStreamsPerUser, "api-max-streams-per-user", defaultMaxStreamsPerUser, "maximum number of concurrent event streams of one user; more get 429; 0 means unlimited")
}

// Validate checks the settings if the API is enabled. Each error names its flag.
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

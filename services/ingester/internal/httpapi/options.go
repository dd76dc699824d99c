package httpapi

import (
	"github.com/spf13/pflag"

	"github.com/flotilla-dev/flotilla/libs/kube/httpserver"
)

// Options are the settings of the API. The zero value serves none.
type Options struct{ httpserver.Options }

// AddFlags adds the flags. They have no values before.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	o.Options.AddFlags(fs, httpserver.Wording{
		Served: "the HTTP API", WithoutCertificate: "the certificate is made in memory", Request: "one request to the HTTP API",
	})
}

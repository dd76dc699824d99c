package httpserver

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"
)

// Options are the settings of an API. The zero value serves none.
type Options struct {
	// BindAddress is host:port; "0" and "" serve nothing.
	BindAddress string
	// CertDir holds [CertFile] and [KeyFile], which are read again when they change. Without
	// it the API is for loopback only; [Config.Plain] selects how it is served there.
	CertDir string
	// TokenAudiences are the accepted audiences of tokens; empty means those of the API server.
	TokenAudiences []string
	// MaxRequests is the maximum of concurrent requests, streams excluded.
	MaxRequests int
	// MaxRequestsPerUser is the maximum per user; zero means unlimited.
	MaxRequestsPerUser int
	// RequestTimeout is the timeout of one request other than a stream.
	RequestTimeout time.Duration
}

// Files of [Options.CertDir].
const (
	CertFile = "tls.crt"
	KeyFile  = "tls.key"
)

const (
	disabled                  = "0"
	defaultMaxRequests        = 100
	defaultMaxRequestsPerUser = 50
	defaultRequestTimeout     = 30 * time.Second
)

// FlagText is the part of the flags' help that differs between services.
type FlagText struct {
	// Served names the API in the help of --api-bind-address.
	Served string
	// WithoutCertificate describes how the API is served without --api-cert-dir.
	WithoutCertificate string
	// Request names the requests that --api-request-timeout limits.
	Request string
}

// AddFlags adds the flags and sets the fields to their defaults.
func (o *Options) AddFlags(fs *pflag.FlagSet, text FlagText) {
	fs.StringVar(&o.BindAddress, "api-bind-address", disabled, "address of "+text.Served+"; 0 disables it")
	fs.StringVar(&o.CertDir, "api-cert-dir", "", "directory with tls.crt and tls.key for the HTTP API, reloaded when they change; without it "+text.WithoutCertificate+", which is for loopback only")
	fs.StringSliceVar(&o.TokenAudiences, "api-token-audiences", nil, "audiences of the tokens that the HTTP API accepts; none means those of the API server")
	fs.IntVar(&o.MaxRequests, "api-max-requests", defaultMaxRequests, "maximum concurrent requests to the HTTP API; more get 429")
	fs.IntVar(&o.MaxRequestsPerUser, "api-max-requests-per-user", defaultMaxRequestsPerUser, "maximum concurrent requests of one user to the HTTP API; more get 429; 0 means unlimited")
	fs.DurationVar(&o.RequestTimeout, "api-request-timeout", defaultRequestTimeout, "timeout of "+text.Request)
}

// Enabled reports whether the API is served.
func (o *Options) Enabled() bool { return o.BindAddress != "" && o.BindAddress != disabled }

// Validate checks the settings when the API is served. Each error names its flag.
func (o *Options) Validate() error {
	if !o.Enabled() {
		return nil
	}
	var errs []error
	if o.MaxRequests < 1 {
		errs = append(errs, fmt.Errorf("--api-max-requests must be at least 1, got %d", o.MaxRequests))
	}
	if o.MaxRequestsPerUser < 0 {
		errs = append(errs, fmt.Errorf("--api-max-requests-per-user must not be negative, got %d", o.MaxRequestsPerUser))
	}
	if o.RequestTimeout <= 0 {
		errs = append(errs, fmt.Errorf("--api-request-timeout must be positive, got %s", o.RequestTimeout))
	}
	for _, a := range o.TokenAudiences {
		if a == "" {
			errs = append(errs, errors.New("--api-token-audiences holds an empty name"))
		}
	}
	return errors.Join(append(errs, o.validateAddress())...)
}

func (o *Options) validateAddress() error {
	host, _, err := net.SplitHostPort(o.BindAddress)
	if err != nil {
		return fmt.Errorf("--api-bind-address %q is not host:port, :port or 0", o.BindAddress)
	}
	if o.CertDir == "" {
		if !isLoopback(host) {
			return fmt.Errorf("--api-bind-address %q is not a loopback address: --api-cert-dir is required", o.BindAddress)
		}
		return nil
	}
	for _, file := range []string{CertFile, KeyFile} {
		if _, err := os.Stat(filepath.Join(o.CertDir, file)); err != nil {
			return fmt.Errorf("--api-cert-dir: %w", err)
		}
	}
	return nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || (ip != nil && ip.IsLoopback())
}

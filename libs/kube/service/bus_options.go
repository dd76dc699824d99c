package service

import (
	"errors"
	"net/url"
	"strings"

	"github.com/go-logr/logr"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/libs/contract"
)

// fileFlags are the flags that name the files of the bus.
var fileFlags = map[bus.File]string{
	bus.FileCreds: "nats-creds", bus.FileNKey: "nats-nkey",
	bus.FileCA: "nats-ca", bus.FileCert: "nats-cert", bus.FileKey: "nats-key",
}

// Bus is the configuration of a client of the bus, for a service's commands; name is
// the client's. The error is that of a setting, and names its flag.
func (o *Options) Bus(name string, log logr.Logger) (bus.Config, error) {
	cfg := bus.Config{
		URL: o.NATSURL, Name: name, CredsFile: o.NATSCreds, NKeyFile: o.NATSNKey,
		TLS: bus.TLS{CAFile: o.NATSCA, CertFile: o.NATSCert, KeyFile: o.NATSKey},
		Log: log,
	}
	if o.NATSURL == "" {
		return cfg, settingError("nats-url", "is required")
	}
	return cfg, errors.Join(o.validateURL(), fileErrors(cfg.Check()))
}

func (o *Options) validateBus() error {
	if o.NATSURL == "" {
		return nil
	}
	_, err := o.Bus(o.service, logr.Discard())
	switch {
	case o.ClusterName == "":
		return errors.Join(err, settingError("cluster-name", "is required with --nats-url"))
	case !validToken(o.ClusterName):
		return errors.Join(err, settingError("cluster-name", "%q is not a DNS name", o.ClusterName))
	}
	return err
}

func validToken(s string) bool {
	_, err := contract.EncodeToken(s)
	return err == nil
}

func (o *Options) validateURL() error {
	for u := range strings.SplitSeq(o.NATSURL, ",") {
		if parsed, err := url.Parse(strings.TrimSpace(u)); err != nil || parsed.Host == "" {
			// The URL may hold a password, so it is not repeated.
			return settingError("nats-url", "is not a URL such as nats://host:4222")
		}
	}
	return nil
}

// fileErrors names the flag of each file that cannot be used.
func fileErrors(err error) error {
	if err == nil {
		return nil
	}
	all := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		all = joined.Unwrap()
	}
	for i, one := range all {
		if file, ok := errors.AsType[*bus.FileError](one); ok {
			all[i] = settingError(fileFlags[file.File], "%w", file.Err)
		}
	}
	return errors.Join(all...)
}

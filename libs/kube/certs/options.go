package certs

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

// Options are the settings of a service's webhook server. The zero value serves no
// webhooks. See [Options.AddFlags] for what each field does.
type Options struct {
	Enable        bool
	BindAddress   string
	CertDir       string
	CertSecret    string
	Service       string
	Configuration string

	// serving is shared by the server of ManagerOptions and the [Rotator] of AddToManager.
	serving *Serving
}

// DefaultAddress is the default address of the webhook server.
const DefaultAddress = ":9443"

// disabled is the address that turns an endpoint off, as for the other address flags.
const disabled = "0"

// AddFlags adds the flags. The current values of the fields become the defaults.
func (o *Options) AddFlags(f *pflag.FlagSet) {
	f.BoolVar(&o.Enable, "enable-webhooks", o.Enable, "serve the admission webhooks")
	f.StringVar(&o.BindAddress, "webhook-bind-address", o.BindAddress, "address of the webhooks; 0 disables them")
	f.StringVar(&o.CertDir, "webhook-cert-dir", o.CertDir, "directory with tls.crt and tls.key for the webhooks, reloaded when they change; empty means self-signed certificates that the service rotates")
	f.StringVar(&o.CertSecret, "webhook-cert-secret", o.CertSecret, "Secret, in the namespace of the leader election, for self-signed certificates")
	f.StringVar(&o.Service, "webhook-service", o.Service, "Service of the webhooks; self-signed certificates are valid for it and for loopback")
	f.StringVar(&o.Configuration, "webhook-configuration", o.Configuration, "name of the webhook configurations whose caBundle is set when certificates are self-signed")
}

// Enabled reports whether webhooks are served.
func (o *Options) Enabled() bool { return o.Enable && o.BindAddress != disabled }

// Validate checks the flags when webhooks are served. Each error names its flag.
func (o *Options) Validate() error {
	if !o.Enabled() {
		return nil
	}
	_, _, err := o.address()
	return errors.Join(err, o.validateCertificates())
}

func (o *Options) validateCertificates() error {
	var errs []error
	if o.CertDir != "" {
		for _, file := range []string{"tls.crt", "tls.key"} {
			if _, err := os.Stat(filepath.Join(o.CertDir, file)); err != nil {
				errs = append(errs, fmt.Errorf("--webhook-cert-dir: %w", err))
			}
		}
		return errors.Join(errs...)
	}
	for flag, name := range map[string]string{
		"webhook-cert-secret": o.CertSecret, "webhook-configuration": o.Configuration,
	} {
		if len(validation.IsDNS1123Subdomain(name)) > 0 {
			errs = append(errs, fmt.Errorf("--%s %q is not the name of an object", flag, name))
		}
	}
	if len(validation.IsDNS1035Label(o.Service)) > 0 {
		errs = append(errs, fmt.Errorf("--webhook-service %q is not the name of a Service", o.Service))
	}
	return errors.Join(errs...)
}

// address splits BindAddress. It rejects port 0, which the server treats as its default.
func (o *Options) address() (host string, port int, err error) {
	host, text, err := net.SplitHostPort(o.BindAddress)
	if err != nil {
		return "", 0, fmt.Errorf("--webhook-bind-address %q is not host:port, :port or 0", o.BindAddress)
	}
	if port, err = strconv.Atoi(text); err != nil || len(validation.IsValidPortNum(port)) > 0 {
		return "", 0, fmt.Errorf("--webhook-bind-address %q has no port from 1 to 65535", o.BindAddress)
	}
	return host, port, nil
}

// ManagerOptions sets the webhook server of the manager, for service.Spec. Call it before
// [Options.AddToManager].
func (o *Options) ManagerOptions(m *ctrl.Options) {
	if !o.Enabled() {
		return
	}
	host, port, err := o.address()
	if err != nil {
		return // Validate has rejected it
	}
	options := webhook.Options{Host: host, Port: port, CertDir: o.CertDir}
	if o.CertDir == "" {
		serving := &Serving{}
		o.serving = serving
		options.TLSOpts = []func(*tls.Config){func(c *tls.Config) { c.GetCertificate = serving.GetCertificate }}
	}
	m.WebhookServer = webhook.NewServer(options)
}

// Identity identifies the service whose certificates are rotated.
type Identity struct {
	Clock clock.WithTicker
	// Namespace is the namespace of the Secret: that of the leader election, else any in which
	// the service has the permission to write one. It is unused with Options.CertDir.
	Namespace string
	// Owner and FieldManager are those of [Config].
	Owner, FieldManager string
	// Lifetimes are [DefaultLifetimes] when they are zero.
	Lifetimes Lifetimes
	// Registerer registers the metric of the certificate; nil keeps it private.
	Registerer prometheus.Registerer
}

// errServer means that Options.ManagerOptions was not called before.
var errServer = errors.New("rotate webhook certificates: ManagerOptions was not called")

// AddToManager adds the readiness check of the webhooks to the manager and, without CertDir,
// the [Rotator] of their certificates. Call it only if [Options.Enabled] returns true.
func (o *Options) AddToManager(mgr ctrl.Manager, id Identity) error {
	if err := mgr.AddReadyzCheck("webhooks", mgr.GetWebhookServer().StartedChecker()); err != nil {
		return fmt.Errorf("add readiness check of the webhook server: %w", err)
	}
	if o.CertDir != "" {
		return nil
	}
	if o.serving == nil {
		return errServer
	}
	if id.Namespace == "" {
		return errors.New("rotate webhook certificates: --leader-election-namespace is required for their Secret, " +
			"unless --webhook-cert-dir is set or --enable-webhooks=false")
	}
	if id.Registerer != nil {
		if err := id.Registerer.Register(o.serving); err != nil {
			return fmt.Errorf("register the metric of the webhook certificate: %w", err)
		}
	}
	rotator := NewRotator(Config{
		APIReader: mgr.GetAPIReader(), Client: mgr.GetClient(), Clock: id.Clock, Owner: id.Owner, FieldManager: id.FieldManager,
		Secret:        types.NamespacedName{Namespace: id.Namespace, Name: o.CertSecret},
		Configuration: o.Configuration, Hosts: HostsOf(o.Service, id.Namespace), Lifetimes: id.Lifetimes,
	}, o.serving)
	if err := mgr.Add(rotator); err != nil {
		return fmt.Errorf("add webhook certificate rotator: %w", err)
	}
	return mgr.AddReadyzCheck("webhook-certificates", o.serving.Check)
}

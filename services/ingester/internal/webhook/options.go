package webhook

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/flotilla-dev/flotilla/libs/kube/certs"
)

// Options are the settings of the webhook. The zero value serves none.
type Options struct {
	certs.Options
}

// name is the name of the webhook configuration and of the policy, and the owner of our Secret.
const name = "flotilla-ingester"

// fieldManager is our field manager.
const fieldManager = "ingester"

// AddFlags adds the flags with their defaults. The webhook is off: clusters that serve
// MutatingAdmissionPolicy need neither it nor permissions for its certificates.
func (o *Options) AddFlags(f *pflag.FlagSet) {
	o.Options = certs.Options{
		BindAddress: certs.DefaultAddress, CertSecret: "ingester-webhook-cert",
		Service: "ingester-webhook", Configuration: name,
	}
	o.Options.AddFlags(f)
}

// Config configures the webhook.
type Config struct {
	Clock clock.WithTicker
	// Namespace is the ingester's own, that of the leader election, for the Secret. It is
	// unused with Options.CertDir.
	Namespace string
	// Watched lists the namespaces that the ingester watches; empty means all. Objects in
	// other namespaces never get the finalizer: nothing would remove it.
	Watched []string
	// Registerer registers the metric of the certificate; nil keeps it private.
	Registerer prometheus.Registerer
}

// Register adds the webhook, its certificates and its readiness check to the manager, whose
// server comes from [certs.Options.ManagerOptions]. It does nothing if o serves no webhook.
func Register(ctx context.Context, mgr ctrl.Manager, o Options, c Config) error {
	if !o.Enabled() {
		ctrl.LoggerFrom(ctx).V(1).Info("Finalizer webhook is disabled")
		return nil
	}
	mgr.GetWebhookServer().Register(path, &webhook.Admission{Handler: handler{watched: c.Watched}})
	err := o.AddToManager(mgr, certs.Identity{
		Clock: c.Clock, Namespace: c.Namespace, Owner: name, FieldManager: fieldManager, Registerer: c.Registerer,
	})
	if err != nil {
		return fmt.Errorf("add webhook certificates: %w", err)
	}
	return nil
}

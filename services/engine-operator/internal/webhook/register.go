package webhook

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/flotilla-dev/flotilla/libs/kube/certs"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
)

// Config configures the webhooks.
type Config struct {
	// NewID generates the ULID of an instance.
	NewID func() (string, error)
	Clock clock.WithTicker
	// Namespace holds the operator's Secret: the namespace of the leader election, or otherwise any in
	// which the operator may create a Secret. It is unused with Options.CertDir.
	Namespace string
	// Watched are the namespaces that the operator watches; empty means all. Objects in
	// other namespaces are accepted without validation.
	Watched []string
	// Lifetimes of the operator's own certificates; zero means certs.DefaultLifetimes.
	Lifetimes certs.Lifetimes
	// Registerer registers the metric of the certificate; nil keeps it private.
	Registerer prometheus.Registerer
}

// owner identifies the Secret of the operator's certificates.
const owner = "flotilla-engine-operator"

// Register adds the webhooks, their certificates and their readiness check to the manager.
// The rules use its API reader. Register does nothing when o disables the webhooks.
func Register(ctx context.Context, mgr ctrl.Manager, o Options, d Config) error {
	if !o.Enabled() {
		ctrl.LoggerFrom(ctx).Info("Webhooks are disabled, only the controllers enforce the rules")
		return nil
	}
	if err := handlers(mgr, o, d); err != nil {
		return err
	}
	return o.AddToManager(mgr, certs.Identity{
		Clock: d.Clock, Namespace: d.Namespace, Owner: owner, FieldManager: names.FieldManager, Lifetimes: d.Lifetimes,
		Registerer: d.Registerer,
	})
}

// handlers registers one handler per path.
func handlers(mgr ctrl.Manager, o Options, d Config) error {
	r := rules{apiReader: mgr.GetAPIReader(), bounds: o.Bounds(), watched: d.Watched}
	if err := builder.WebhookManagedBy(mgr, &v1alpha1.FireboltEngine{}).WithValidator(engines{r}).Complete(); err != nil {
		return fmt.Errorf("register the engine webhook: %w", err)
	}
	if err := builder.WebhookManagedBy(mgr, &v1alpha1.FireboltEngineClass{}).WithValidator(classes{r}).Complete(); err != nil {
		return fmt.Errorf("register the class webhook: %w", err)
	}
	if err := builder.WebhookManagedBy(mgr, &v1alpha1.FireboltInstance{}).WithValidator(instances{r}).Complete(); err != nil {
		return fmt.Errorf("register the instance webhook: %w", err)
	}
	mgr.GetWebhookServer().Register(identityPath, &webhook.Admission{Handler: identity{apiReader: mgr.GetAPIReader(), newID: d.NewID, watched: d.Watched}})
	return nil
}

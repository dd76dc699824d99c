package components

import (
	"context"
	"fmt"

	"github.com/flotilla-dev/flotilla/libs/testkit/freeport"

	"github.com/flotilla-dev/flotilla/tools/stack/internal/process"
)

// SystemNamespace holds the accounts and the leases of the services.
const SystemNamespace = "flotilla-system"

// Aggregator is the service whose HTTP API the kubectl plugin uses.
const Aggregator = "status-aggregator"

// Viewer is the service account with read access to the aggregator's HTTP API.
const Viewer = "viewer"

// ClusterName is the --cluster-name of all services, which every subject on the bus contains.
const ClusterName = "local"

// NewService returns a service of Flotilla. dsn is called at the start of the service, when MySQL is known.
func NewService(env *Env, name string, dsn func() string) Component {
	return &program{
		name:    name,
		env:     env,
		spec:    func(port portFunc) (process.Spec, error) { return serviceSpec(env, name, dsn(), port) },
		address: func() string { return env.HealthURL(name) },
		healthy: func(ctx context.Context) error { return answers(ctx, env.HealthURL(name)) },
	}
}

// ServiceKubeconfig returns the path of a kubeconfig with the credentials of the service's account.
func (e *Env) ServiceKubeconfig(service string) string {
	return e.Checkout.Local("accounts", service+".kubeconfig")
}

// TokenFile returns the path of the token of a service's account.
func (e *Env) TokenFile(service string) string {
	return e.Checkout.Local("accounts", service+".token")
}

// Chart returns the directory of a service's Helm chart.
func (e *Env) Chart(service string) string {
	return e.Checkout.Path("deploy", "charts", service)
}

// HealthURL returns the URL that answers 200 when the service is ready.
func (e *Env) HealthURL(service string) string {
	return fmt.Sprintf("http://%s/readyz", freeport.Address(e.State.Ports[service+"-health"]))
}

// MetricsURL returns the URL of the service's metrics.
func (e *Env) MetricsURL(service string) string {
	return fmt.Sprintf("http://%s/metrics", freeport.Address(e.State.Ports[service+"-metrics"]))
}

// Binary returns the path of the program of a service.
func (e *Env) Binary(service string) string {
	return e.Checkout.Local("bin", service)
}

// Webhooks returns the path of the file with a service's webhook configurations.
func (e *Env) Webhooks(service string) string {
	return e.Checkout.Path("services", service, "config", "webhook", "manifests.yaml")
}

// HasWebhooks reports whether a service has webhooks in the stack. A service with policies has none: its webhooks are
// for clusters that do not serve policies.
func (e *Env) HasWebhooks(service string) bool {
	return exists(e.Webhooks(service)) && !e.HasPolicies(service)
}

// Policies returns the path of the file with the MutatingAdmissionPolicies of a service.
func (e *Env) Policies(service string) string {
	return e.Checkout.Path("services", service, "config", "admission", "manifests.yaml")
}

// HasPolicies reports whether a service has that file.
func (e *Env) HasPolicies(service string) bool { return exists(e.Policies(service)) }

// WebhookAddress returns the address at which the service serves webhooks.
func (e *Env) WebhookAddress(service string) (string, error) {
	port, err := e.State.Port(service + "-webhook")
	return freeport.Address(port), err
}

// HasAPI reports whether a service has an HTTP API, that is, an OpenAPI document.
func (e *Env) HasAPI(service string) bool {
	return exists(e.Checkout.Path("services", service, "docs", "openapi.yaml"))
}

// APIURL returns the URL of a service's HTTP API: HTTPS with a self-signed certificate for the ingester, plain HTTP on
// loopback for the aggregator.
func (e *Env) APIURL(service string) string {
	scheme := "https://"
	if service == Aggregator {
		scheme = "http://"
	}
	return scheme + freeport.Address(e.State.Ports[service+"-api"])
}

func serviceSpec(env *Env, name, dsn string, port portFunc) (process.Spec, error) {
	metrics, err := port(name + "-metrics")
	if err != nil {
		return process.Spec{}, err
	}
	health, err := port(name + "-health")
	if err != nil {
		return process.Spec{}, err
	}
	args := []string{
		env.Binary(name),
		"--cluster-name=" + ClusterName,
		"--bus-bootstrap",
		"--metrics-bind-address=" + freeport.Address(metrics),
		"--metrics-secure=false",
		"--health-probe-bind-address=" + freeport.Address(health),
		"--leader-elect=true",
		"--leader-election-namespace=" + SystemNamespace,
		"--conditions-lease-namespace=" + SystemNamespace,
	}
	if env.HasWebhooks(name) {
		webhook, err := port(name + "-webhook")
		if err != nil {
			return process.Spec{}, err
		}
		args = append(args, "--webhook-bind-address="+freeport.Address(webhook))
	}
	if env.HasAPI(name) {
		api, err := port(name + "-api")
		if err != nil {
			return process.Spec{}, err
		}
		args = append(args, "--api-bind-address="+freeport.Address(api))
	}
	return process.Spec{
		Name: name,
		Args: args,
		Env: []string{
			"KUBECONFIG=" + env.ServiceKubeconfig(name),
			"NATS_URL=" + env.NATSURL(),
			"MYSQL_DSN=" + dsn,
		},
		Dir:    env.Checkout.Root,
		Log:    env.Checkout.Log(name),
		Run:    env.Checkout.Local("run"),
		Marker: env.Checkout.Marker(),
		Files:  []string{env.Binary(name)},
	}, nil
}

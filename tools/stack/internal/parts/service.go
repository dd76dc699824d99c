package parts

import (
	"context"
	"fmt"

	"github.com/flotilla-dev/flotilla/libs/testkit/freeport"

	"github.com/flotilla-dev/flotilla/tools/stack/internal/process"
)

// SystemNamespace holds the leases of the services.
const SystemNamespace = "flotilla-system"

// ClusterName is the --cluster-name of all services, which stands in every subject on the bus.
const ClusterName = "local"

// NewService is one of Flotilla's services. The DSN is asked for at the start, when MySQL is known.
func NewService(env *Env, name string, dsn func() string) Part {
	return &program{
		name:    name,
		env:     env,
		spec:    func(port portFunc) (process.Spec, error) { return serviceSpec(env, name, dsn(), port) },
		address: func() string { return env.HealthURL(name) },
		healthy: func(ctx context.Context) error { return answers(ctx, env.HealthURL(name)) },
	}
}

// HealthURL answers 200 when the service is ready.
func (e *Env) HealthURL(service string) string {
	return fmt.Sprintf("http://%s/readyz", freeport.Address(e.State.Ports[service+"-health"]))
}

// MetricsURL serves the service's metrics.
func (e *Env) MetricsURL(service string) string {
	return fmt.Sprintf("http://%s/metrics", freeport.Address(e.State.Ports[service+"-metrics"]))
}

// Binary is the program of a service.
func (e *Env) Binary(service string) string {
	return e.Checkout.Local("bin", service)
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
	return process.Spec{
		Name: name,
		Args: []string{
			env.Binary(name),
			"--cluster-name=" + ClusterName,
			"--bus-bootstrap",
			"--metrics-bind-address=" + freeport.Address(metrics),
			"--metrics-secure=false",
			"--health-probe-bind-address=" + freeport.Address(health),
			"--leader-elect=true",
			"--leader-election-namespace=" + SystemNamespace,
			"--conditions-lease-namespace=" + SystemNamespace,
		},
		Env: []string{
			"KUBECONFIG=" + env.Kubeconfig(),
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

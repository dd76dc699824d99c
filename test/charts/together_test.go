package charts

import (
	"testing"

	"k8s.io/client-go/kubernetes/scheme"

	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
)

// TestChartsShareNamespace installs all charts in one namespace. Their objects do not collide, and each
// chart can be uninstalled without the others.
func TestChartsShareNamespace(t *testing.T) {
	c := cluster.Get(t)
	together := env{T: t, client: c.Client(t, scheme.Scheme), namespace: c.Namespace(t)}
	together.create(secret("database", "dsn", "flotilla:secret@tcp(mysql:3306)/flotilla"))
	all := lifecycles()
	for _, service := range services {
		p := together
		p.service = service
		if all[service].object != "" {
			p.withCRDs()
		}
		args := []string{"install", service, chart(service), "--wait", "--set", "cluster.name=prod,bus.url=nats://nats:4222"}
		if service == "ingester" {
			args = append(args, all[service].values...)
		}
		p.helm(args...)
	}
	for i, service := range services {
		for _, other := range services[i:] {
			p := together
			p.service = other
			p.works(p.appVersion(), 2)
		}
		p := together
		p.service = service
		p.helm("uninstall", service, "--wait")
		p.nothingLeft("")
	}
}

package command

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// What deploy/real-node/superset.yaml runs: the images, and the directories of test/e2e/images that make them.
var (
	supersetImages      = []string{"flotilla-e2e/superset:6.1.0", "flotilla-e2e/postgres:dev", "flotilla-e2e/nginx:dev"}
	supersetDirectories = []string{"superset", "postgres", "nginx"}
)

func hasSuperset(services []string) bool { return slices.Contains(services, "superset-operator") }

// bringUpSuperset installs Superset by deploy/real-node/superset.yaml, waits until it serves, and prints its address.
func (a *app) bringUpSuperset(ctx context.Context) error {
	if err := a.step("Superset", func() (string, error) {
		if err := a.applyManifests(ctx, a.env.Checkout.Path("deploy", "real-node", "superset.yaml")); err != nil {
			return "", err
		}
		_, err := a.kubectl(ctx, "", "wait", "--for=condition=Available", "--timeout=15m", "--namespace=superset", "superset/example")
		return "available", err
	}); err != nil {
		return fmt.Errorf("%w\nSee `kubectl describe superset example -n superset`", err)
	}
	address, err := a.kubectl(ctx, "", "get", "nodes", "--output",
		`jsonpath={.items[0].status.addresses[?(@.type=="InternalIP")].address}`)
	if err != nil {
		return err
	}
	port, err := a.kubectl(ctx, "", "get", "service", "example-web-server", "--namespace=superset", "--output", "jsonpath={.spec.ports[0].nodePort}")
	if err != nil {
		return err
	}
	a.info("\nSuperset: http://%s:%s, user admin, password admin", strings.TrimSpace(string(address)), port)
	return nil
}

package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/flotilla-dev/flotilla/libs/testkit/authority"

	"github.com/flotilla-dev/flotilla/tools/stack/internal/components"
	"github.com/flotilla-dev/flotilla/tools/stack/internal/node"
	"github.com/flotilla-dev/flotilla/tools/stack/internal/platform"
)

// install installs the platform into another cluster, like `up --node real` into the cluster of the stack. The nodes
// must have the images.
func (a *app) install(ctx context.Context, services, kubeconfig string) error {
	if kubeconfig == "" {
		return fmt.Errorf("%w: install requires --kubeconfig of the target cluster", errUsage)
	}
	if !exists(kubeconfig) {
		return fmt.Errorf("kubeconfig %s not found", kubeconfig)
	}
	chosen, err := a.env.Checkout.Choose(services)
	if err != nil {
		return err
	}
	unlock, err := a.lock()
	if err != nil {
		return err
	}
	return errors.Join(a.installInto(ctx, chosen, kubeconfig), unlock())
}

func (a *app) installInto(ctx context.Context, services []string, kubeconfig string) error {
	certificates := a.env.Checkout.Local("node", "pki") // like those of a real node
	if err := a.step("certificates of the bus", func() (string, error) {
		return "ready", a.issue(ctx, certificates, kubeconfig)
	}); err != nil {
		return err
	}
	return a.platform(services, kubeconfig, certificates).Install(ctx)
}

// issue creates a CA and the certificate of the bus, unless they exist. Clients outside the cluster reach the bus at a
// port of the nodes, so the certificate has the addresses of the nodes.
func (a *app) issue(ctx context.Context, dir, kubeconfig string) error {
	if exists(filepath.Join(dir, "nats.crt")) {
		return nil
	}
	client := a.client()
	client.Kubeconfig = kubeconfig
	out, err := client.Run(ctx, "", "get", "nodes",
		"--output", `jsonpath={.items[*].status.addresses[?(@.type=="InternalIP")].address}`)
	if err != nil {
		return err
	}
	_, err = node.Issue(dir, map[string]authority.Subject{
		"nats": {User: "nats", Hosts: append(platform.NATSHosts(), strings.Fields(string(out))...)},
	})
	return err
}

// platform returns the sources of the installation.
func (a *app) platform(services []string, kubeconfig, certificates string) platform.Config {
	return platform.Config{
		Root: a.env.Checkout.Root, Services: services, ClusterName: components.ClusterName,
		Helm: a.env.Tools.Path("helm"), Kubectl: a.env.Tools.Path("kubectl"), Kubeconfig: kubeconfig,
		Cache: a.env.Checkout.Local("cache"), NATSImage: natsImage, MySQLImage: mysqlImage,
		Certificates: certificates, Passwords: a.env.Checkout.Local("node", "passwords.json"),
		Step: a.step,
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

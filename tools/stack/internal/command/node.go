package command

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/flotilla-dev/flotilla/tools/stack/internal/build"
	"github.com/flotilla-dev/flotilla/tools/stack/internal/envfile"
	"github.com/flotilla-dev/flotilla/tools/stack/internal/node"
)

// The values of --node.
const (
	simulated = "simulated"
	realNode  = "real"
)

// nodeOptions are the flags of `up --node real`.
type nodeOptions struct {
	bare    bool
	images  string
	samples string
}

// The images of the platform besides those of the services, with the names in docker-compose.yaml.
const (
	natsImage  = "nats:2.15-alpine"
	mysqlImage = "mysql:9.7"
)

// startNode starts a cluster with one real node and installs Flotilla in it.
func (a *app) startNode(ctx context.Context, services string, o nodeOptions) error {
	chosen, err := a.env.Checkout.Choose(services)
	if err != nil {
		return err
	}
	if !a.env.State.RealNode && exists(a.env.Kubeconfig()) {
		return errors.New("the stack runs with simulated nodes: take it down first with `make down`")
	}
	if err := a.nodeTools(ctx); err != nil {
		return err
	}
	// Recorded first, so that `down` cleans up after a killed start.
	a.env.State.RealNode, a.env.State.Services = true, nil
	if !o.bare {
		a.env.State.Services = chosen // `permissions` reports theirs
	}
	if err := a.env.State.Save(); err != nil {
		return err
	}
	if err := a.ensure(ctx, a.node); err != nil {
		return err
	}
	if err := a.step("cluster DNS and volumes", func() (string, error) {
		return "ready", a.node.Node.Start(ctx)
	}); err != nil {
		return err
	}
	if err := envfile.Write(a.env.Checkout.Local("env"), envfile.Vars{{Name: "KUBECONFIG", Value: a.env.Kubeconfig()}},
		[]string{a.env.Tools.Dir, a.env.Checkout.Local("bin")}); err != nil {
		return err
	}
	if !o.bare {
		if err := a.startPlatform(ctx, chosen, o.images); err != nil {
			return err
		}
	}
	if o.samples != "" {
		return a.step("samples", func() (string, error) { return "applied", a.applyManifests(ctx, o.samples) })
	}
	if hasSuperset(chosen) && !o.bare && o.images == "" {
		return a.startSuperset(ctx)
	}
	return nil
}

// applyManifests applies a file, or all files of a directory.
func (a *app) applyManifests(ctx context.Context, path string) error {
	_, err := a.kubectl(ctx, "", "apply", "--server-side", "--recursive", "-f", path)
	return err
}

// startPlatform imports the images into the node and installs the platform from charts and manifests.
func (a *app) startPlatform(ctx context.Context, chosen []string, images string) error {
	if images == "" {
		images = a.env.Checkout.Local("images")
		names, e2e := []string{natsImage, mysqlImage}, []string(nil)
		for _, service := range chosen {
			names = append(names, "flotilla/"+service+":dev")
		}
		if hasSuperset(chosen) {
			names, e2e = append(names, supersetImages...), supersetDirectories
		}
		if err := a.step("building images", func() (string, error) {
			built := func(name string) { a.info("  %s", name) }
			return "done", build.Images(ctx, a.env.Checkout, images, names, e2e, built)
		}); err != nil {
			return err
		}
	}
	if err := a.importImages(ctx, []string{images}); err != nil {
		return err
	}
	digests, err := a.node.Node.Digests(ctx)
	if err != nil {
		return err
	}
	config := a.platform(chosen, a.env.Kubeconfig(), a.node.Node.Certificates())
	config.Digests = digests
	return config.Install(ctx)
}

// nodeTools builds and downloads the programs of a real node.
func (a *app) nodeTools(ctx context.Context) error {
	if err := node.Ready(ctx, a.env.Checkout); err != nil {
		return err
	}
	return a.step("programs of the real node", func() (string, error) {
		return "ready", a.node.Node.Prepare(ctx)
	})
}

// importImages imports images into the real node.
func (a *app) importImages(ctx context.Context, paths []string) error {
	if len(paths) == 0 {
		return fmt.Errorf("%w: import requires files or directories", errUsage)
	}
	return a.step("images", func() (string, error) {
		files, err := a.node.Node.Import(ctx, paths)
		for _, file := range files {
			a.info("  %s", filepath.Base(file))
		}
		return "imported", err
	})
}

// The images in deploy/real-node/superset.yaml, and the directories of test/e2e/images that build them.
var (
	supersetImages      = []string{"flotilla-e2e/superset:6.1.0", "flotilla-e2e/postgres:dev", "flotilla-e2e/nginx:dev"}
	supersetDirectories = []string{"superset", "postgres", "nginx"}
)

func hasSuperset(services []string) bool { return slices.Contains(services, "superset-operator") }

// startSuperset applies deploy/real-node/superset.yaml, waits until Superset is available, and prints its address.
func (a *app) startSuperset(ctx context.Context) error {
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

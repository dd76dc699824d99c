package command

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/flotilla-dev/flotilla/libs/testkit/kubectl"

	"github.com/flotilla-dev/flotilla/tools/stack/internal/components"
	"github.com/flotilla-dev/flotilla/tools/stack/internal/samples"
)

// kubectl runs the kubectl of the control plane and returns its output.
func (a *app) kubectl(ctx context.Context, stdin string, args ...string) ([]byte, error) {
	return a.client().Run(ctx, stdin, args...)
}

func (a *app) client() kubectl.Client {
	return kubectl.Client{
		Program: a.env.Tools.Path("kubectl"), Kubeconfig: a.env.Kubeconfig(), Cache: a.env.Checkout.Local("cache"),
	}
}

const systemNamespace = `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"` + components.SystemNamespace + `"}}`

// prepareCluster installs the CRDs of all services, running or not, and creates the system namespace.
func (a *app) prepareCluster(ctx context.Context) error {
	if _, err := a.kubectl(ctx, systemNamespace, "apply", "--server-side", "-f", "-"); err != nil {
		return err
	}
	files, err := filepath.Glob(a.env.Checkout.Path("services", "*", "config", "crd", "*.yaml"))
	if err != nil {
		return fmt.Errorf("list the CRDs: %w", err)
	}
	if len(files) == 0 {
		return nil
	}
	return a.client().ApplyCRDs(ctx, files...)
}

// samples returns the samples of the running services.
func (a *app) samples() (samples.Set, error) {
	var dirs []string
	for _, name := range a.env.State.Services {
		dirs = append(dirs, a.env.Checkout.Path("services", name, "config", "samples"))
	}
	return samples.Load(dirs)
}

func (a *app) applySamples(ctx context.Context, set samples.Set) error {
	if len(set.Files) == 0 {
		return nil
	}
	_, err := a.kubectl(ctx, "", append([]string{"apply"}, fileArgs(set.Files)...)...)
	return err
}

// checkSamples reads the samples from the API server and the database.
func (a *app) checkSamples(ctx context.Context, set samples.Set, dsn string) ([]samples.Report, error) {
	if len(set.Files) == 0 {
		return nil, nil
	}
	args := append([]string{"get", "--ignore-not-found", "-o", "json"}, fileArgs(set.Files)...)
	out, err := a.kubectl(ctx, "", args...)
	if err != nil {
		return nil, err
	}
	found, err := samples.ParseList(out)
	if err != nil {
		return nil, err
	}
	var store samples.Store
	if a.runs("ingester") && dsn != "" {
		store = samples.Database{DSN: dsn}
	}
	return set.Check(ctx, found, store)
}

func (a *app) runs(service string) bool {
	return slices.Contains(a.env.State.Services, service)
}

func fileArgs(files []string) []string {
	var args []string
	for _, file := range files {
		args = append(args, "-f", file)
	}
	return args
}

package command

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/flotilla-dev/flotilla/tools/stack/internal/parts"
	"github.com/flotilla-dev/flotilla/tools/stack/internal/samples"
)

// kubectl runs the control plane's own kubectl and returns what it prints.
func (a *app) kubectl(ctx context.Context, stdin string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, a.env.Tools.Path("kubectl"), args...) //nolint:gosec // our own program
	cmd.Env = append(os.Environ(),
		"KUBECONFIG="+a.env.Kubeconfig(),
		// What it remembers about an address may come from an older cluster.
		"KUBECACHEDIR="+a.env.Checkout.Local("cache"))
	cmd.Stdin = strings.NewReader(stdin)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("kubectl %s: %w\n%s", args[0], err, strings.TrimSpace(errOut.String()))
	}
	return out.Bytes(), nil
}

const systemNamespace = `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"` + parts.SystemNamespace + `"}}`

// prepareCluster installs the CRDs of all services, whether they run or not, and the system namespace.
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
	args := fileArgs(files)
	if _, err := a.kubectl(ctx, "", append([]string{"apply", "--server-side", "--force-conflicts"}, args...)...); err != nil {
		return err
	}
	return a.established(ctx, args)
}

// established waits until the CRDs are served. kubectl wait fails at once on one that is so new that it has no
// conditions yet, so it is asked again.
func (a *app) established(ctx context.Context, files []string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		_, err := a.kubectl(ctx, "", append([]string{"wait", "--for=condition=Established", "--timeout=60s"}, files...)...)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-tick.C:
		}
	}
}

// samples are those of the services that run.
func (a *app) samples() (samples.Set, error) {
	var folders []string
	for _, name := range a.env.State.Services {
		folders = append(folders, a.env.Checkout.Path("services", name, "config", "samples"))
	}
	return samples.Load(folders)
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
	for _, name := range a.env.State.Services {
		if name == service {
			return true
		}
	}
	return false
}

func fileArgs(files []string) []string {
	var args []string
	for _, file := range files {
		args = append(args, "-f", file)
	}
	return args
}
